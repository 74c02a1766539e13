import numpy as np
import pytest

from eigenstream.processes import noise_image, page_image

MAKERS = {
    "page": lambda seed: page_image(96, supersample=2, random_state=seed),
    "noise": lambda seed: noise_image(96, random_state=seed),
}


@pytest.mark.parametrize("name", MAKERS)
def test_images_are_gray_deterministic_and_differ_by_seed(name):
    image = MAKERS[name](0)
    assert image.shape == (96, 96)
    assert image.min() >= 0
    assert image.max() <= 1
    assert image.std() > 0.1
    np.testing.assert_array_equal(image, MAKERS[name](0))
    assert not np.array_equal(image, MAKERS[name](1))


@pytest.mark.parametrize("name", ["noise"])
def test_images_go_on_across_their_borders(name):
    inside, across = [], []
    for seed in range(10):
        image = MAKERS[name](seed)
        inside.append(np.abs(np.diff(image, axis=0)).mean())
        across.append(np.abs(image[0] - image[-1]).mean())
    # Ten images; the step across a border is one more step, up to its own scatter.
    error = np.std(across, ddof=1) / 10**0.5
    assert np.mean(across) == pytest.approx(np.mean(inside), abs=5 * error)


def test_print_wraps_around_the_lower_border():
    # The line is as high as the page, less than the letter: its foot comes back at the top. (In
    # some faces the foot is too short for that.)
    page = page_image(
        44,
        fonts=["DejaVuSans"],
        font_sizes=(44, 44),
        alphabet="g",
        polarity="white_on_black",
        supersample=1,
        random_state=0,
    )
    assert page[:2].max() > 0


def test_noise_has_its_spectrum():
    image = noise_image(128, exponent=1.0, random_state=0)
    power = np.abs(np.fft.fft2(image)) ** 2
    frequency = np.hypot(np.fft.fftfreq(128)[:, None], np.fft.fftfreq(128))
    ring = (frequency > 0.02) & (frequency < 0.4)
    slope = np.polyfit(np.log(frequency[ring]), np.log(power[ring]), 1)[0]
    # Log-power scatters by 1.28 about its line; thousands of frequencies, half of them copies.
    spread = np.log(frequency[ring]).std() * (ring.sum() / 2) ** 0.5
    assert slope == pytest.approx(-2.0, abs=5 * 1.3 / spread)
