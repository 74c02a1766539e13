"""What is kept between two rows, and how it becomes an answer."""
