"""
Turning letters and their filters
=================================

A window drifts over a page of letters and turns at random.
:class:`~eigenstream.SlowSubspace` learns features that change little from
one view to the next. The filters are rings and waves, which respond alike
at every angle.
"""

from eigenstream import SlowSubspace, StreamPCA, plotting
from eigenstream.evaluation import pair_roc
from eigenstream.processes import ImageWalk, Style, digit_set, page_image

# %%
# Watch the page
# --------------
# The library draws the page, and moves the window. ``scale=0`` turns
# zooming off.

SIZE = 20
style = Style(size=SIZE)
walk = ImageWalk(
    page_image(random_state=0), size=SIZE, scale=0, random_state=0
)
views = walk.take(6000)

# %%
# Learn without labels, test on digits
# ------------------------------------
# Two images of the same digit should be nearer to each other than images of
# different digits. The ROC area is the probability of this.

slow = SlowSubspace(n_components=8, basis="eigenvalue").fit(views)
pca = StreamPCA(n_components=8).fit(views)
digits, labels = digit_set("rotation", 40, style=style, random_state=1)
area, area_of_pca = (
    pair_roc(one.transform(digits), labels).area for one in (slow, pca)
)
print(f"ROC area on turned digits: {area:.3f}, PCA: {area_of_pca:.3f}")

# %%
# Draw the views, the filters, and the digits
# -------------------------------------------

watched, filters, left, right = plotting.panels([1, 1, 2], [1.2, 1.5, 3.6])
plotting.mosaic(plotting.gray(views[:12], SIZE), columns=12, ax=watched)
plotting.mosaic(
    plotting.signed(slow.components_, SIZE), columns=8, ax=filters
)
for ax, name, model in ((left, "PCA", pca), (right, "slow features", slow)):
    plotting.embedding(model.transform(digits), labels, ax=ax)
    ax.set_title(f"Digits at random angles, {name}", loc="left")
watched.set_title("Twelve consecutive views", loc="left")
filters.set_title("The eight slowest filters", loc="left")
