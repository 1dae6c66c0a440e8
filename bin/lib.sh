# shellcheck shell=bash
# What bin/quickstart and bin/test share; sourced, never run. It brings this machine to the point where `.venv` holds
# the locked packages and a Docker Engine answers. Everything may be run again: what is there is left alone.
# Exit codes are those of build.py: 2 for a wrong command, 4 for something that is not available.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
SOCKET=/var/run/docker.sock
PATH=$VENV/bin:$PATH:/usr/sbin:/sbin # dockerd and debootstrap live where a user's PATH often does not look

ENGINE_RUN=()     # put before a command that talks to the engine: empty, or sudo
ENGINE_PID=       # of the dockerd started here
ENGINE_LOG=       # and where it writes
ENGINE_UNIT=false # true when systemd was asked to start it

say() { printf '%s\n' "$*" >&2; }
heading() { printf '\n== %s\n' "$*"; }
die() { # CODE MESSAGE…
    say "$(basename "$0"): ${*:2}"
    exit "$1"
}
have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif have sudo; then
        sudo -E "$@" # -E: apt and dockerd need the caller's proxy variables
    else
        die 4 "needs root for: $* (run this as root, or install sudo)"
    fi
}

# --- disk -------------------------------------------------------------------------------------------------------------

# Prints what is free where Docker keeps its data; with MIN_GB given, less than that ends the run.
check_disk() { # [MIN_GB]
    local dir=/var/lib/docker free
    if [[ -n ${DOCKER_HOST:-} && $DOCKER_HOST != unix://* ]]; then
        say "free disk: not checked, the engine is at $DOCKER_HOST"
        return
    fi
    if have docker; then # a data directory set in daemon.json is known to a running engine only
        dir=$(timeout 10 docker info --format '{{.DockerRootDir}}' 2>/dev/null) || dir=/var/lib/docker
    fi
    [[ $dir == /* ]] || dir=/var/lib/docker
    while [[ ! -d $dir ]]; do dir=$(dirname "$dir"); done
    free=$(($(df -Pk "$dir" | awk 'NR == 2 {print $4}') / 1024 / 1024))
    say "free disk: $free GB at $dir"
    if ((free < ${1:-0})); then
        die 4 "$1 GB are needed at $dir and $free GB are free; make room (\`docker system prune\` removes what Docker" \
            "no longer uses), or set CUBAKE_MIN_FREE_GB to ask for less"
    fi
}

# --- packages ---------------------------------------------------------------------------------------------------------

# Prints a Python that can make the environment. Each is run, not only looked up: a version manager's shim may lead
# nowhere.
find_python() {
    local candidate
    for candidate in python3.13 python3.12 python3.11 python3 python3.14; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

venv_works() { "$VENV/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
in_apt() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# Installs with apt what is missing, after saying what that is. `engine` also wants Docker and debootstrap.
install_packages() { # [engine [registry]]
    local wants=() packages=() python='' version want
    if ! venv_works; then
        if ! python=$(find_python); then
            wants+=(python)
        elif ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            wants+=(venv)
        fi
    fi
    if [[ ${1:-} == engine ]]; then
        # A socket without a dockerd is an engine someone else runs, for example one passed into this container.
        [[ -n ${DOCKER_HOST:-} || -S $SOCKET ]] || have dockerd || wants+=(engine)
        have docker || wants+=(client)
        have debootstrap || wants+=(debootstrap)
        compgen -G '/usr/share/keyrings/debian-archive-keyring.*' >/dev/null || wants+=(debian-archive-keyring)
    fi
    [[ ${2:-} != registry ]] || have docker-registry || wants+=(registry)
    ((${#wants[@]})) || return 0

    have apt-get || die 4 "missing: ${wants[*]}; this script installs with apt-get only, so install them yourself" \
        "(Python 3.11 or newer with venv, Docker Engine 20.10 or newer and its client, debootstrap) and run it again"
    say "missing: ${wants[*]}; asking apt for its package lists"
    as_root apt-get update -qq || say "apt-get update failed in part; going on with the lists there are"

    for want in "${wants[@]}"; do
        case $want in
        python)
            for version in 3.13 3.12 3.11 3.14 none; do in_apt "python$version" && break; done
            [[ $version != none ]] || die 4 "no Python 3.11 or newer here or in apt's lists; put one on PATH as" \
                "python3 and run this again"
            packages+=("python$version" "python$version-venv")
            ;;
        venv)
            version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
            in_apt "python$version-venv" || die 4 "$(command -v "$python") has no ensurepip and apt has no" \
                "python$version-venv; put a whole Python 3.11 or newer on PATH and run this again"
            packages+=("python$version-venv")
            ;;
        registry) in_apt docker-registry && packages+=(docker-registry) ;; # a test says so where there is none
        engine)
            packages+=(docker.io)
            have iptables || packages+=(iptables)
            [[ -e /etc/ssl/certs/ca-certificates.crt ]] || packages+=(ca-certificates)
            # Where the kernel has AppArmor on, the engine starts no container without its parser.
            if grep -qs Y /sys/module/apparmor/parameters/enabled; then have apparmor_parser || packages+=(apparmor); fi
            ;;
        client) # a package of its own from Debian 13 on, before that a part of docker.io
            if in_apt docker-cli; then packages+=(docker-cli); else packages+=(docker.io); fi
            ;;
        *) packages+=("$want") ;;
        esac
    done
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)

    say "installing with apt: ${packages[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "${packages[@]}" >&2 ||
        die 4 "apt-get could not install ${packages[*]}; its messages are above"
}

# --- .venv ------------------------------------------------------------------------------------------------------------

# Installs a lock into .venv, unless that was done already. pip's own settings (proxy, certificates, index) apply.
install_lock() { # LOCK
    local sum stamp python
    # Both locks name the stamp, so that a checkout with another pair is noticed whichever was installed last.
    sum=$(cat "$ROOT/requirements.lock" "$ROOT/requirements-dev.lock" | sha256sum | cut -c1-64)
    stamp=$VENV/.installed/$sum/$1
    if venv_works && [[ -e $stamp ]]; then return; fi

    if ! venv_works; then
        python=$(find_python) || die 4 "no Python 3.11 or newer found; put one on PATH as python3 and run this again"
        say "creating .venv with $(command -v "$python")"
        "$python" -m venv --clear "$VENV" || die 4 "$python could not create $VENV; its messages are above"
    fi
    say "installing $1 into .venv"
    [[ -d $VENV/.installed/$sum ]] || rm -rf "$VENV/.installed"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$ROOT/$1" >&2 ||
        die 4 "pip could not install $1; behind a proxy or a company certificate, set HTTPS_PROXY and PIP_CERT"
    mkdir -p "$(dirname "$stamp")"
    touch "$stamp"
}

# --- the engine -------------------------------------------------------------------------------------------------------

# Asked through the SDK, because that is what build.py uses; works once .venv is there.
engine_answers() {
    "${ENGINE_RUN[@]}" "$VENV/bin/python" -c 'import docker; docker.from_env(timeout=10).ping()' >/dev/null 2>&1
}

# Leaves an engine that answers, or ends the run with 4.
ensure_engine() {
    local context
    if engine_answers; then return; fi
    [[ -z ${DOCKER_HOST:-} ]] || die 4 "the engine at DOCKER_HOST=$DOCKER_HOST does not answer; start it, or unset" \
        "DOCKER_HOST to use this machine's own"

    # The client may know an engine that the SDK does not: rootless Docker and Docker Desktop are contexts.
    if timeout 10 docker info >/dev/null 2>&1; then
        context=$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null) || context=
        if [[ -n $context ]]; then
            export DOCKER_HOST=$context
            if engine_answers; then return; fi
            unset DOCKER_HOST
        fi
    fi
    if [[ $EUID -ne 0 && " $(id -nG) " != *" docker "* ]]; then
        have sudo || die 4 "$(id -un) may not use the Docker Engine: add the user to the group docker, or run this" \
            "as root"
        say "$(id -un) is not in the group docker: using sudo for what needs the engine"
        ENGINE_RUN=(sudo -E env "PATH=$PATH")
        if engine_answers; then return; fi
    fi
    start_engine
}

# After a kill or a restart an id file may name a process that is something else by now, and dockerd would not start.
remove_stale_pid() { # FILE PROCESS_NAME
    local pid
    pid=$(as_root cat "$1" 2>/dev/null) || return 0
    [[ $(cat "/proc/${pid:-none}/comm" 2>/dev/null) == "$2" ]] || as_root rm -f "$1"
}

start_engine() {
    local dir deadline
    have dockerd || die 4 "no engine answers at $SOCKET and there is no dockerd here to start; start the engine, or" \
        "set DOCKER_HOST"
    as_root true # asks for a password now if one is needed, or says that root is
    deadline=$((SECONDS + 60))
    if [[ -d /run/systemd/system ]]; then
        say "starting the Docker Engine: systemctl start docker"
        as_root systemctl start docker >&2 || die 4 "the Docker Engine did not start; see: journalctl -u docker"
        ENGINE_UNIT=true
    else
        remove_stale_pid /var/run/docker.pid dockerd
        remove_stale_pid /var/run/docker/containerd/containerd.pid containerd
        dir=$(mktemp -d)
        ENGINE_LOG=$dir/dockerd.log
        say "starting the Docker Engine: dockerd, log in $ENGINE_LOG"
        # In a session of its own, so that Ctrl-C here does not reach it, and without a hold on this script's output.
        # The inner shell becomes dockerd, so the process id it writes is dockerd's.
        # shellcheck disable=SC2016 # $$, $1 and $2 are the inner shell's
        as_root setsid sh -c 'echo $$ >"$1"; exec dockerd >"$2" 2>&1' sh "$dir/pid" "$ENGINE_LOG" \
            </dev/null >/dev/null 2>&1 &
        until [[ -s $dir/pid ]] || ((SECONDS >= deadline)); do sleep 0.1; done
        ENGINE_PID=$(cat "$dir/pid" 2>/dev/null) || ENGINE_PID=none
    fi
    until engine_answers; do
        if ((SECONDS >= deadline)) || { ! $ENGINE_UNIT && [[ ! -d /proc/$ENGINE_PID ]]; }; then
            if $ENGINE_UNIT; then
                die 4 "the Docker Engine does not answer after its start; see: journalctl -u docker"
            fi
            tail -n 20 "$ENGINE_LOG" >&2 || true
            stop_engine
            die 4 "the Docker Engine did not come up; the end of its log is above, all of it in $ENGINE_LOG"
        fi
        sleep 0.5
    done
}

engine_stop_command() {
    if $ENGINE_UNIT; then echo "systemctl stop docker"; elif [[ -n $ENGINE_PID ]]; then echo "kill $ENGINE_PID"; fi
}

# Stops what start_engine started and nothing else.
stop_engine() {
    local deadline=$((SECONDS + 30))
    if $ENGINE_UNIT; then as_root systemctl stop docker >&2; fi
    if [[ -n $ENGINE_PID && -d /proc/$ENGINE_PID ]]; then
        as_root kill "$ENGINE_PID"
        while [[ -d /proc/$ENGINE_PID ]] && ((SECONDS < deadline)); do sleep 0.2; done
    fi
    ENGINE_UNIT=false ENGINE_PID=
}
