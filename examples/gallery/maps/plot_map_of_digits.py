"""
A map of digits
===============

:class:`~eigenstream.SelfOrganizingMap` puts similar digits near to each
other, without labels. The U-matrix shows the borders between groups, and
the hits show the number of digits at each unit.
"""

from sklearn.datasets import load_digits

from eigenstream import SelfOrganizingMap, plotting

# %%
# Fit a hexagonal map
# -------------------

X, y = load_digits(return_X_y=True)
som = SelfOrganizingMap((14, 14), topology="hexagonal", random_state=0).fit(
    X
)

# %%
# The labels are used only now
# ----------------------------
# ``class_map`` counts the labels at each unit. The purity is the share of
# digits with the most frequent label of their unit.

classes = som.class_map(X, y)
print(f"purity: {classes.purity:.3f}")
print(f"topographic error: {som.topographic_error_:.3f}")

# %%
# Draw the U-matrix, the hits, the classes and the units
# ------------------------------------------------------
# Each unit is the mean of the digits near to it, so it is an image.

borders, hits, named, units = plotting.panels([2, 2], [3, 3], width=7)
plotting.map_plane(som, ax=borders)
plotting.map_plane(som, som.hits(), label="digits", ax=hits)
plotting.map_classes(som, classes, ax=named)
plotting.mosaic(
    255 - plotting.gray(som.prototypes_, 8), columns=14, ax=units
)
borders.set_title("U-matrix", loc="left")
hits.set_title("Hits", loc="left")
named.set_title("Classes", loc="left")
units.set_title("Units", loc="left")
