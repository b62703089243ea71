// Failures of nodes, their network links and their database; the failure is over when the promise
// resolves.
import type { Postgres } from "../../support/postgres.ts"
import { pause, until } from "../../support/wait.ts"
import type { Cluster, ClusterNode } from "./cluster.ts"

const pauseReason = "how long a trouble lasts is part of the trial"

export type Failure = (cluster: Cluster, node: ClusterNode, ms: number) => Promise<void>

/** Failures by name; `ms` is their duration. */
export const failures = {
  "a node is killed": async (_, node, ms) => {
    await node.running().stop("SIGKILL")
    await pause(ms / 4, pauseReason)
    await node.start()
  },
  "a node is paused": async (_, node, ms) => {
    const { process } = node.running()
    process.kill("SIGSTOP")
    await pause(ms, pauseReason)
    process.kill("SIGCONT")
  },
  "a node is cut off from the database": (_, { toDatabase }, ms) =>
    during(ms, toDatabase.disconnect, toDatabase.restore),
  "nothing comes from the database any more": (_, { toDatabase }, ms) =>
    during(ms, toDatabase.stall, toDatabase.restore),
  "the connections to the database break": async (_, { toDatabase }) => toDatabase.reset(),
  "a node is cut off from the proxy": (_, { fromProxy }, ms) =>
    during(ms, fromProxy.disconnect, fromProxy.restore),
  "nothing comes from a node any more": (_, { fromProxy }, ms) =>
    during(ms, fromProxy.stall, fromProxy.restore),
  "the database is restarted": async ({ postgres }) => {
    postgres().stop("fast")
    postgres().start()
  },
  "the database is killed": async ({ postgres }, _, ms) => {
    postgres().stop("immediate")
    await pause(ms / 4, pauseReason)
    postgres().start()
  },
  "the database is frozen": async ({ postgres }, _, ms) => {
    const goOn = postgres().freeze()
    await pause(ms, pauseReason)
    goOn()
  },
  "a synchronous replica takes over": async (cluster) => {
    const replica = cluster.postgres().replica()
    await cluster.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await cluster.sql("SELECT pg_reload_conf()")
    await waitUntilSynchronous(cluster)
    await pause(300, "the replica must take over in the midst of the load")
    promoteReplica(cluster, replica)
  },
} as const satisfies Readonly<Record<string, Failure>>

async function during(ms: number, begin: () => void, end: () => void): Promise<void> {
  begin()
  await pause(ms, pauseReason)
  end()
}

async function waitUntilSynchronous(cluster: Cluster): Promise<void> {
  const isSync = async () => {
    const rows = await cluster.sql<{ sync_state: string }>(
      "SELECT sync_state FROM pg_stat_replication",
    )
    return rows.some(({ sync_state }) => sync_state === "sync")
  }
  await until(isSync, { what: "the replica to be synchronous" })
}

function promoteReplica(cluster: Cluster, replica: Postgres): void {
  cluster.postgres().stop("immediate")
  replica.promote()
  cluster.moveTo(replica)
}

/**
 * Disconnects a replica, runs `meanwhile` against the primary, and promotes the replica, so that
 * acknowledged events are lost.
 */
export async function loseLatestEvents(
  cluster: Cluster,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const replica = cluster.postgres().replica()
  const sql = replica.sql(replica.cluster)
  await sql.unsafe("ALTER SYSTEM SET primary_conninfo = ''")
  await sql.unsafe("SELECT pg_reload_conf()")
  await until(async () => (await sql.unsafe("SELECT 1 FROM pg_stat_wal_receiver")).length === 0)
  await sql.close()
  await meanwhile()
  promoteReplica(cluster, replica)
}
