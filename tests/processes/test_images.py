import numpy as np

from eigenstream.processes import page_image


def test_pages_are_gray_deterministic_and_differ_by_seed():
    inside = []
    for seed in range(10):
        image = page_image(96, random_state=seed)
        assert (image.shape, image.min() >= 0, image.max() <= 1) == ((96, 96), True, True)
        assert image.std() > 0.1
        inside.append(np.abs(np.diff(image, axis=0)).mean())
    np.testing.assert_array_equal(image, page_image(96, random_state=9))
    assert len(set(inside)) == 10
