# SPDX-License-Identifier: MIT
# How Sphinx makes the site; see make/site.mk.
project = "Kudzu"
author = "the Kudzu maintainers"
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Kudzu"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"source_repository": "", "top_of_page_buttons": []}
pygments_style = "tango"
pygments_dark_style = "native"
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]
