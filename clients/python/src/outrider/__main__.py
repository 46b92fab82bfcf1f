# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""``python -m outrider``."""

import sys

from ._main import main

sys.exit(main(sys.argv[1:]))
