"""The sizes of drawings: more is not readable."""

#: Wider components without names are drawn as profiles along the columns.
MOST_NAMES = 24

#: Components whose weights are drawn, the bars of all of them, and of one component.
MOST_COMPONENTS, MOST_ROWS, MOST_OF_COMPONENT = 12, 60, 10

#: Columns of a picture of windows. With more, only those that an alarm names are drawn.
MOST_COLUMNS = 40


def bars_of_component(n_components: int, n_features: int) -> int:
    """Return the number of bars of each component.

    >>> [bars_of_component(*sizes) for sizes in [(2, 30), (12, 30), (2, 4)]]
    [10, 5, 4]
    """
    return min(n_features, MOST_OF_COMPONENT, max(MOST_ROWS // n_components, 3))
