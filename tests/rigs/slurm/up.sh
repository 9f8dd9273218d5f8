#!/bin/bash
# Start a small, real Slurm cluster on loopback for the tests.
#
#   up.sh WORKDIR [ROOT]
#
# WORKDIR  every file of the cluster lives here (config, database, logs, sockets).
# ROOT     optional: a Debian tree with another Slurm version (see root.sh);
#          without it the host's own packages are used and installed if missing.
# Settings (environment): SLURMRIG_PORT first port of the range used (default 16800),
#   SLURMRIG_MAXJOBS (default 100000), SLURMRIG_MAXARRAY (default 100001),
#   SLURMRIG_CGROUP=v1 to confine memory with cgroup v1 (makes OUT_OF_MEMORY possible),
#   SLURMRIG_MINJOBAGE seconds until the controller forgets a finished job (default 600),
#   SLURMRIG_MESSAGETIMEOUT seconds a command waits for the controller (default 10).
# Needs root. Running it again with a live cluster only prints the settings to use.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,14p' "$0"; exit 2; }
[ "$(id -u)" = 0 ] || { echo "up.sh: must run as root" >&2; exit 1; }
mkdir -p "$1"; W=$(cd "$1" && pwd -P); ROOT=${2:-}
if [ -n "$ROOT" ]; then
  [ -x "$ROOT/usr/sbin/slurmctld" ] || { echo "up.sh: $ROOT holds no Slurm (root.sh makes such a tree)" >&2; exit 1; }
  ROOT=$(cd "$ROOT" && pwd -P)
fi
P=${SLURMRIG_PORT:-16800}
CTLD=$P DBD=$((P+1)) RESTD=$((P+2)) SQL=$((P+3))
NODES=8
CG=${SLURMRIG_CGROUP:-}
HERE=$(cd "$(dirname "$0")" && pwd -P)
say() { echo "up.sh: $*" >&2; }

print_env() {
  cat "$W/env.sh"
}
alive() { [ -s "$W/run/$1.pid" ] && kill -0 "$(cat "$W/run/$1.pid")" 2>/dev/null; }
if alive slurmctld && alive slurmdbd && [ -f "$W/env.sh" ]; then say "already up"; print_env; exit 0; fi
[ ! -d "$W/run" ] || "$HERE/down.sh" "$W" >/dev/null 2>&1 || true

# --- packages -------------------------------------------------------------
if [ -z "$ROOT" ]; then
  need=""
  for p in slurm-wlm slurmrestd slurmdbd slurm-wlm-mysql-plugin slurm-wlm-jwt-plugin munge mariadb-server jq curl; do
    dpkg-query -W -f '${Status}' $p 2>/dev/null | grep -q 'ok installed' || need="$need $p"
  done
  if [ -n "$need" ]; then
    say "installing$need"
    apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $need >"$W/apt.log" 2>&1 || { tail -5 "$W/apt.log" >&2; exit 1; }
  fi
fi

# --- where to run: the host or ROOT ---------------------------------------
mkdir -p "$W"/{etc,run,log,db,state,bin,dev,out}
if [ -n "$ROOT" ]; then
  for d in proc sys dev; do
    # As a slave: what down.sh unmounts in the tree stays mounted on the host.
    mkdir -p "$ROOT/$d"; mountpoint -q "$ROOT/$d" || { mount --rbind "/$d" "$ROOT/$d"; mount --make-rslave "$ROOT/$d"; }
  done
  mkdir -p "$ROOT$W"; ! mountpoint -q "$ROOT$W" || umount -l "$ROOT$W"; mount --bind "$W" "$ROOT$W"
  grep -qs localhost "$ROOT/etc/hosts" || echo "127.0.0.1 localhost" > "$ROOT/etc/hosts"
  IN=(chroot "$ROOT")
else
  IN=()
fi
echo "$ROOT" > "$W/run/root"
in_() { "${IN[@]}" "$@"; }
# Daemons get a neutral host name in a UTS namespace of their own.
as_host() { local h=$1; shift; unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' _ "$h" "${IN[@]}" "$@"; }

V=$(in_ /usr/sbin/slurmctld -V | awk '{print $2}'); MAJOR=$(echo "$V" | cut -d. -f1,2 | tr -d .)

# --- users (same ids on the host and in ROOT) -------------------------------
i=0
for u in alice bob carol dave oper; do
  i=$((i+1)); id=$((47100+i))
  for r in "" $ROOT; do
    c=(); [ -z "$r" ] || c=(chroot "$r")
    "${c[@]}" id $u >/dev/null 2>&1 || "${c[@]}" useradd -M -u $id -d "$W/home/$u" -s /bin/bash $u
  done
  mkdir -p "$W/home/$u"; chown "$(id -u $u)" "$W/home/$u"
done

# --- configuration ----------------------------------------------------------
[ -s "$W/etc/munge.key" ] || dd if=/dev/urandom of="$W/etc/munge.key" bs=128 count=1 status=none
[ -s "$W/etc/jwt.key" ]   || dd if=/dev/urandom of="$W/etc/jwt.key" bs=32 count=1 status=none
chmod 755 "$W" "$W"/{etc,run,log,bin,home}; chmod 1777 "$W/out"; chmod 600 "$W"/etc/*.key
in_ chown munge "$W/etc/munge.key"; in_ chown slurm "$W/etc/jwt.key" "$W/state" "$W/log" "$W/run"
in_ chown mysql "$W/db" 2>/dev/null || true
[ -n "$ROOT" ] || mkdir -p "$W/spool"
for n in 0 1 2 3; do [ -e "$W/dev/gpu$n" ] || mknod "$W/dev/gpu$n" c 1 3; done

cat > "$W/etc/slurm.conf" <<E
ClusterName=rig
SlurmctldHost=ctl0(127.0.0.1)
SlurmctldPort=$CTLD
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$W/run/munge.sock
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$W/etc/jwt.key
StateSaveLocation=$W/state
SlurmdSpoolDir=$W/spool/%n
SlurmctldPidFile=$W/run/slurmctld.pid
SlurmdPidFile=$W/run/slurmd-%n.pid
SlurmctldLogFile=$W/log/slurmctld.log
SlurmdLogFile=$W/log/slurmd-%n.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/$([ -n "$CG" ] && echo cgroup || echo linuxproc)
TaskPlugin=task/$([ -n "$CG" ] && echo cgroup || echo none)
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=5
$([ -n "$CG" ] || echo JobAcctGatherParams=OverMemoryKill)
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_min_interval=20000,bf_continue,${SLURMRIG_DEFER-defer_batch,}enable_user_top${SLURMRIG_SCHED:+,$SLURMRIG_SCHED}
PriorityType=priority/multifactor
PriorityDecayHalfLife=1-0
PriorityCalcPeriod=00:01
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=500
PriorityWeightPartition=2000
PriorityWeightQOS=5000
PriorityMaxAge=7-0
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$DBD
AccountingStoragePass=$W/run/munge.sock
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
$([ "$MAJOR" -ge 2108 ] && echo AccountingStoreFlags=job_comment,job_script,job_env || echo AccountingStoreJobComment=yes)
GresTypes=gpu
Licenses=matlab:2
PreemptType=preempt/qos
PreemptMode=REQUEUE
MaxJobCount=${SLURMRIG_MAXJOBS:-100000}
MaxArraySize=${SLURMRIG_MAXARRAY:-100001}
MinJobAge=${SLURMRIG_MINJOBAGE:-600}
ReturnToService=1
SlurmdTimeout=20
SlurmctldTimeout=30
InactiveLimit=0
KillWait=2
MessageTimeout=${SLURMRIG_MESSAGETIMEOUT:-10}
BatchStartTimeout=20
MpiDefault=none
MailProg=/bin/true
JobRequeue=1
PrivateData=none
RebootProgram=/bin/true
ResumeTimeout=60
DefMemPerCPU=500
NodeName=DEFAULT State=UNKNOWN
NodeName=n01 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+11)) CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Feature=skylake,ib Weight=10
NodeName=n02 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+12)) CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Feature=skylake,ib Weight=10
NodeName=n03 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+13)) CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=128000 Feature=icelake,ib Weight=20
NodeName=n04 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+14)) CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=128000 Feature=icelake Weight=20
NodeName=n05 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+15)) CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=32000 Feature=gpu,a100 Weight=50 Gres=gpu:a100:4
NodeName=n06 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+16)) CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=32000 Feature=gpu,v100 Weight=40 Gres=gpu:v100:2
NodeName=n07 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+17)) CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Feature=old Weight=90
NodeName=n08 NodeHostname=node0 NodeAddr=127.0.0.1 Port=$((P+18)) CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 Feature=old Weight=90
PartitionName=batch Nodes=n[01-04,07-08] Default=YES MaxTime=2-00:00:00 DefaultTime=01:00:00 State=UP PriorityJobFactor=10
PartitionName=gpu Nodes=n[05-06] MaxTime=1-00:00:00 State=UP PriorityJobFactor=50
PartitionName=debug Nodes=n[01-02] MaxTime=00:30:00 MaxNodes=1 State=UP PriorityJobFactor=100
PartitionName=maint Nodes=n[07-08] MaxTime=UNLIMITED State=DOWN AllowAccounts=bio,physics
E
cat > "$W/etc/gres.conf" <<E
NodeName=n05 Name=gpu Type=a100 File=$W/dev/gpu[0-3]
NodeName=n06 Name=gpu Type=v100 File=$W/dev/gpu[0-1]
E
if [ -n "$CG" ]; then
  printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\nAllowedSwapSpace=0\n'
elif [ "$MAJOR" -ge 2305 ]; then
  echo CgroupPlugin=disabled
else
  echo CgroupAutomount=no
fi > "$W/etc/cgroup.conf"
cat > "$W/etc/slurmdbd.conf" <<E
AuthType=auth/munge
AuthInfo=socket=$W/run/munge.sock
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$W/etc/jwt.key
DbdHost=ctl0
DbdAddr=127.0.0.1
DbdPort=$DBD
SlurmUser=slurm
LogFile=$W/log/slurmdbd.log
PidFile=$W/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$SQL
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
E
in_ chown slurm "$W/etc/slurmdbd.conf"; chmod 600 "$W/etc/slurmdbd.conf"

cat > "$W/env.sh" <<E
export SLURM_CONF=$W/etc/slurm.conf
export PATH=$W/bin:\$PATH
export SLURMRIG_VERSION=$V
export SLURMRIG_REST=http://127.0.0.1:$RESTD
export SLURMRIG_REST_SOCKET=$W/run/slurmrestd-alice.sock
export SLURMRIG_DIR=$W
E
# Client commands: wrappers that run ROOT's own programs, without chroot, as any user.
if [ -n "$ROOT" ]; then
  L=$ROOT/usr/lib/x86_64-linux-gnu LOADER=$ROOT$(in_ readlink -f /lib64/ld-linux-x86-64.so.2)
  ARGV0=""; ! "$LOADER" --help 2>&1 | grep -q -- --argv0 || ARGV0=yes      # glibc 2.33 and later
  sed "1i PluginDir=$L/slurm-wlm" "$W/etc/slurm.conf" > "$W/etc/client.conf"
  for c in squeue sinfo sbatch salloc scancel scontrol sacct sacctmgr sdiag sprio sshare sstat sreport strigger; do
    [ -e "$ROOT/usr/bin/$c" ] || continue
    # Another slurm.conf than the rig's is the caller's own business.
    printf '#!/bin/sh\n[ "$SLURM_CONF" != %s/etc/slurm.conf ] || export SLURM_CONF=%s/etc/client.conf\nexec %s --library-path %s:%s/slurm-wlm %s %s/usr/bin/%s "$@"\n' \
      "$W" "$W" "$LOADER" "$L" "$L" "${ARGV0:+--argv0 $c}" "$ROOT" "$c" > "$W/bin/$c"
    chmod 755 "$W/bin/$c"
  done
fi
export SLURM_CONF=$W/etc/slurm.conf

wait_for() { # wait_for SECONDS WHAT COMMAND...
  local t=$(( $(date +%s) + $1 )) what=$2; shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt $t ] || { say "$what did not come up; see $W/log:"; "$@" >&2 || true; exit 1; }
    sleep 0.1
  done
}

# --- daemons ------------------------------------------------------------------
in_ chown munge "$W/log" ; touch "$W/log/munged.log"; in_ chown munge "$W/log/munged.log"; in_ chown root "$W/log"; chmod 777 "$W/run" "$W/log"
as_host ctl0 setpriv --reuid=munge --regid=munge --clear-groups /usr/sbin/munged --force --key-file="$W/etc/munge.key" --socket="$W/run/munge.sock" \
  --pid-file="$W/run/munged.pid" --log-file="$W/log/munged.log" --seed-file="$W/run/munged.seed" 2>>"$W/log/munged.err"
if [ ! -d "$W/db/mysql" ]; then
  in_ mariadb-install-db --no-defaults --force --user=mysql --datadir="$W/db" --skip-test-db --auth-root-authentication-method=socket >"$W/log/mariadb-install.log" 2>&1
fi
rm -f "$W/run/mysql.sock"
setsid "${IN[@]}" /usr/sbin/mariadbd --no-defaults --user=mysql --datadir="$W/db" --socket="$W/run/mysql.sock" --pid-file="$W/run/mysqld.pid" \
  --bind-address=127.0.0.1 --port=$SQL --innodb-buffer-pool-size=256M --innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=0 \
  >"$W/log/mariadb.log" 2>&1 </dev/null &
wait_for 60 mariadb in_ mariadb-admin --no-defaults -u root -S "$W/run/mysql.sock" ping
in_ mariadb --no-defaults -u root -S "$W/run/mysql.sock" -e "CREATE DATABASE IF NOT EXISTS slurm_acct_db; CREATE USER IF NOT EXISTS slurm@'127.0.0.1' IDENTIFIED BY 'slurm'; CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED BY 'slurm'; GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1'; GRANT ALL ON slurm_acct_db.* TO slurm@localhost;"
as_host ctl0 /usr/sbin/slurmdbd 
wait_for 60 slurmdbd in_ sacctmgr -n show cluster
if ! in_ sacctmgr -n -P show cluster format=cluster | grep -qx rig; then
  in_ sacctmgr -i add cluster rig
  in_ sacctmgr -i add qos normal,long,express,tiny,scav
  in_ sacctmgr -i modify qos normal set priority=10
  in_ sacctmgr -i modify qos long set priority=0 maxwall=7-0
  in_ sacctmgr -i modify qos express set priority=100 maxjobsperuser=1 maxwall=0:30:0
  in_ sacctmgr -i modify qos scav set priority=0 preemptmode=cancel
  in_ sacctmgr -i modify qos express set preempt=scav
  in_ sacctmgr -i modify qos tiny set priority=5 maxtresperuser=cpu=4 maxsubmitjobsperuser=3
  in_ sacctmgr -i add account physics description=physics organization=uni fairshare=60
  in_ sacctmgr -i add account bio description=bio organization=uni fairshare=40
  in_ sacctmgr -i add account small parent=bio description=small organization=uni fairshare=5 grptres=cpu=2 grpjobs=1
  in_ sacctmgr -i add user alice account=physics fairshare=10 qos=normal,long,express,tiny,scav defaultqos=normal
  in_ sacctmgr -i add user bob account=physics,bio defaultaccount=bio fairshare=20 qos=normal,express,tiny defaultqos=normal
  in_ sacctmgr -i add user carol account=bio fairshare=5 qos=normal defaultqos=normal
  in_ sacctmgr -i add user carol,alice account=small qos=normal,tiny defaultqos=normal
  in_ sacctmgr -i add user dave account=bio qos=normal,long defaultqos=normal
  in_ sacctmgr -i add user oper account=bio adminlevel=operator qos=normal,long,express,tiny,scav defaultqos=normal
  in_ sacctmgr -i modify user root set qos=normal,long,express,tiny
  in_ sacctmgr -i add coordinator account=bio names=bob
fi >"$W/log/sacctmgr.log" 2>&1
as_host ctl0 /usr/sbin/slurmctld -i 
wait_for 60 slurmctld in_ scontrol ping
mkdir -p "$W/spool"
for k in $(seq 1 $NODES); do
  n=n0$k
  [ $n = n08 ] && continue      # n08 stays down
  mkdir -p "$W/spool/$n"
  as_host node0 /usr/sbin/slurmd -N $n
done
# REST: TCP with JWT, and a unix socket of alice's own server (it answers alice and root alone).
SLURM_JWT=daemon setsid "${IN[@]}" setpriv --reuid=nobody --regid=nogroup --clear-groups /usr/sbin/slurmrestd -a rest_auth/jwt 127.0.0.1:$RESTD >"$W/log/slurmrestd.log" 2>&1 </dev/null & echo $! > "$W/run/slurmrestd.pid"
setsid "${IN[@]}" setpriv --reuid=alice --regid=alice --clear-groups /usr/sbin/slurmrestd -a rest_auth/local "unix:$W/run/slurmrestd-alice.sock" >"$W/log/slurmrestd-alice.log" 2>&1 </dev/null & echo $! > "$W/run/slurmrestd-alice.pid"
wait_for 60 nodes sh -c "[ \$(${IN[*]} sinfo -h -p batch -N -o %T | grep -c -E 'idle|drain') -ge 5 ]"
in_ scontrol update nodename=n07 state=drain reason="bad DIMM, ticket 4711"
in_ scontrol update nodename=n08 state=down reason="no power"
print_env
