// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// System calls that the library of the system has, and that Swift's module of it hides.

/// Moves a file; with flag 1 (RENAME_NOREPLACE) never over another one. glibc 2.28.
int renameat2(int from, const char *name, int to, const char *newName, unsigned int flags);
