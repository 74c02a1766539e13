"""What the theory says, as plain functions of plain numbers."""
