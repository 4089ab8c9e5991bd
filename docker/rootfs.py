"""The root file system of the image: a small Debian with Java and Python, the same bytes each time.

"The same" holds for one set of package versions: the distribution moves on, so the versions are
recorded in the image at /opt/odf/packages.txt, and a finished root file system stays in the cache.
"""

import hashlib
import json
import os
from pathlib import Path

from tools import ENV, ensure, run, say

EPOCH = 1763424000
SUITE = "bookworm"
PYTHON_VERSION = "3.11"
ENGINE_UID = 10001
PACKAGES = ("openjdk-17-jre-headless", "python3")
HOST_PACKAGES = ("mmdebstrap", "debian-archive-keyring")

# The Java package's scripts expect the manual folder even when manuals are left out.
ESSENTIAL_HOOKS = ('mkdir -p "$1/usr/share/man/man1"',)
LEFT_OUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*")
KEPT = ("/usr/share/doc/*/copyright",)
CUSTOMIZE_HOOKS = (
    f'echo "engine:x:{ENGINE_UID}:" >> "$1/etc/group"',
    f'echo "engine:x:{ENGINE_UID}:{ENGINE_UID}::/nonexistent:/usr/sbin/nologin" >> "$1/etc/passwd"',
    'mkdir -p "$1/opt/odf"',
    "chroot \"$1\" dpkg-query -W -f '${Package} ${Version} ${Architecture}\\n'"
    ' > "$1/opt/odf/packages.txt"',
    # Logs, caches and host files differ from build to build; the Java key store holds dates.
    'rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*.bin "$1"/var/cache/ldconfig/aux-cache'
    ' "$1"/var/cache/debconf/* "$1"/var/log/* "$1"/etc/machine-id "$1"/etc/resolv.conf'
    ' "$1"/etc/hostname "$1"/etc/apt/sources.list "$1"/etc/ssl/certs/java/cacerts',
    'rm -f "$1"/etc/shadow- "$1"/etc/passwd- "$1"/etc/group- "$1"/etc/gshadow-',
)


def recipe() -> str:
    """A digest of all that decides what is in the root file system, but for package versions."""
    parts = [EPOCH, SUITE, PACKAGES, ESSENTIAL_HOOKS, LEFT_OUT, KEPT, CUSTOMIZE_HOOKS]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def build(cache: Path, *, architecture: str, mirror: str | None, fresh: bool) -> Path:
    """The root file system as a tar file, from the cache unless it is not there or `fresh`."""
    target = cache / f"rootfs-{architecture}-{recipe()[:16]}.tar"
    if target.exists() and not fresh:
        return target
    say("making the root file system (about half a minute, downloads packages)")
    cache.mkdir(parents=True, exist_ok=True)
    staging = target.with_name(f"{target.name}.{os.getpid()}.staging.tar")
    try:
        run(_command(staging, architecture=architecture, mirror=mirror), what="mmdebstrap")
        staging.replace(target)
    finally:
        staging.unlink(missing_ok=True)
    return target


def _command(target: Path, *, architecture: str, mirror: str | None) -> list[str]:
    mode = "root" if os.geteuid() == 0 else "unshare"
    command = [ENV, f"SOURCE_DATE_EPOCH={EPOCH}", ensure("mmdebstrap", packages=HOST_PACKAGES)]
    command += ["--quiet", f"--mode={mode}", "--variant=essential", f"--arch={architecture}"]
    command += [f"--include={','.join(PACKAGES)}"]
    command += [f"--essential-hook={hook}" for hook in ESSENTIAL_HOOKS]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    command += [f"--dpkgopt=path-include={pattern}" for pattern in KEPT]
    command += [f"--customize-hook={hook}" for hook in CUSTOMIZE_HOOKS]
    return [*command, SUITE, str(target), *([mirror] if mirror else [])]
