import numpy as np
import pytest

from eigenstream.processes import noise_image, page_image


@pytest.mark.parametrize("maker", [page_image, noise_image])
def test_images_are_gray_periodic_deterministic_and_differ_by_seed(maker):
    inside, across = [], []
    for seed in range(10):
        image = maker(96, random_state=seed)
        assert (image.shape, image.min() >= 0, image.max() <= 1) == ((96, 96), True, True)
        assert image.std() > 0.1
        inside.append(np.abs(np.diff(image, axis=0)).mean())
        across.append(np.abs(image[0] - image[-1]).mean())
    np.testing.assert_array_equal(image, maker(96, random_state=9))
    assert len(set(inside)) == 10
    if maker is noise_image:
        # The step across a border is one more step, up to the scatter over ten images.
        error = np.std(across, ddof=1) / 10**0.5
        assert np.mean(across) == pytest.approx(np.mean(inside), abs=5 * error)


def test_noise_has_its_spectrum():
    image = noise_image(128, random_state=0)
    power = np.abs(np.fft.fft2(image)) ** 2
    frequency = np.hypot(np.fft.fftfreq(128)[:, None], np.fft.fftfreq(128))
    ring = (frequency > 0.02) & (frequency < 0.4)
    slope = np.polyfit(np.log(frequency[ring]), np.log(power[ring]), 1)[0]
    # Log-power scatters by 1.28 about its line; thousands of frequencies, half of them copies.
    spread = np.log(frequency[ring]).std() * (ring.sum() / 2) ** 0.5
    assert slope == pytest.approx(-2.0, abs=5 * 1.3 / spread)
