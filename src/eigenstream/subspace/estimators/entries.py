"""Constraints of parameters that several estimators have."""

from sklearn.utils._param_validation import Options, StrOptions

FLAG = Options(bool, {True, False})
CRITERION = StrOptions({"difference", "ratio"})

#: The default number of components. Rows of one feature have one component.
DEFAULT = 2
