"""Every case of this folder, registered by importing the modules that hold them."""

from __future__ import annotations

import cases_ceiling  # noqa: F401
import cases_crash  # noqa: F401
import cases_errors  # noqa: F401
import cases_facade  # noqa: F401
import cases_frames  # noqa: F401
import cases_golden  # noqa: F401
import cases_hosts  # noqa: F401
import cases_input  # noqa: F401
import cases_kinds  # noqa: F401
import cases_leave  # noqa: F401
import cases_mode  # noqa: F401
import cases_official  # noqa: F401
import cases_paths  # noqa: F401
import cases_queue  # noqa: F401
import cases_rules  # noqa: F401
import cases_readme  # noqa: F401
import cases_replay  # noqa: F401
import cases_resume  # noqa: F401
import cases_rows  # noqa: F401
import cases_socket  # noqa: F401
import cases_view  # noqa: F401
from harness import CASES

__all__ = ["CASES"]
