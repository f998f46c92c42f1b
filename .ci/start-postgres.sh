#!/usr/bin/env bash
# Starts a throwaway PostgreSQL on loopback, installing Debian's package where there is none, and prints its
# SQLAlchemy URL. Running it again finds the same server. Stop and delete it with: .ci/start-postgres.sh --stop
#
#   export GROUNDWIRE_TEST_POSTGRES="$(.ci/start-postgres.sh)"
set -euo pipefail

home="${GROUNDWIRE_POSTGRES_HOME:-/tmp/groundwire-postgres-$(id -u)}"
data="$home/data"
user=groundwire

find_tools() {
    local folder
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort --reverse) $(command -v initdb || true); do
        [[ -f $folder ]] && folder="$(dirname "$folder")"
        if [[ -x $folder/initdb && -x $folder/postgres ]]; then
            echo "$folder"
            return
        fi
    done
    return 1
}

# The server refuses to run as root.
as_owner() {
    if [[ $(id -u) -eq 0 ]]; then
        runuser -u postgres -- env -C "$home" PATH="$PATH" "$@"
    else
        "$@"
    fi
}

if [[ ${1:-} == --stop ]]; then
    if [[ -d $data ]]; then
        tools="$(find_tools)"
        as_owner "$tools/pg_ctl" --pgdata="$data" --mode=immediate --silent stop >&2 || true
        rm -rf "$home"
    fi
    exit 0
fi

if ! tools="$(find_tools)"; then
    if [[ $(id -u) -ne 0 ]]; then
        echo "PostgreSQL is not installed; install it (apt-get install postgresql) or run this as root." >&2
        exit 1
    fi
    # The package would start a cluster of its own, which nobody needs.
    mkdir -p /etc/postgresql-common
    [[ -e /etc/postgresql-common/createcluster.conf ]] ||
        echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && apt-get install -q -y --no-install-recommends postgresql; } >&2
    tools="$(find_tools)"
fi

# Under /tmp anybody could have laid a folder of that name: only a file of our own is believed.
if [[ ! -f $home/url || ! -O $home/url ]]; then
    rm -rf "$home"
    mkdir -m 700 "$home"
    password="$(head -c 18 /dev/urandom | base64 | tr '+/' '-_')"
    # A free port, asked of the kernel; nobody takes it in the moment until the server does.
    port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
    (umask 077 && printf '%s' "$password" >"$home/password")
    [[ $(id -u) -eq 0 ]] && chown -R postgres "$home"
    as_owner "$tools/initdb" --pgdata="$data" --username="$user" --pwfile="$home/password" --auth=scram-sha-256 \
        --encoding=UTF8 --locale=C --no-sync >&2
    cat >>"$data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
max_connections = 200
fsync = off
CONF
    (umask 077 && printf 'postgresql://%s:%s@127.0.0.1:%s/postgres\n' "$user" "$password" "$port" >"$home/url")
fi

if ! as_owner "$tools/pg_ctl" --pgdata="$data" --silent status >/dev/null 2>&1; then
    as_owner "$tools/pg_ctl" --pgdata="$data" --log="$home/log" --wait --timeout=60 --silent start >&2 </dev/null
fi
cat "$home/url"
