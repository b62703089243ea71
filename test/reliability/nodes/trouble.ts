// What befalls nodes, their cables and their database; each is over when the promise resolves.
import type { Postgres } from "../../support/postgres.ts"
import { pause, until } from "../../support/wait.ts"
import type { Cluster, ClusterNode } from "./cluster.ts"

const lasting = "how long a trouble lasts is part of the trial"

export type Trouble = (cluster: Cluster, node: ClusterNode, ms: number) => Promise<void>

/** By name; `ms` is for how long it lasts. */
export const troubles = {
  "a node is killed": async (_, node, ms) => {
    await node.running().stop("SIGKILL")
    await pause(ms / 4, lasting)
    await node.start()
  },
  "a node is paused": async (_, node, ms) => {
    const { process } = node.running()
    process.kill("SIGSTOP")
    await pause(ms, lasting)
    process.kill("SIGCONT")
  },
  "a node is cut off from the database": (_, { toDatabase }, ms) =>
    during(ms, toDatabase.cut, toDatabase.mend),
  "nothing comes from the database any more": (_, { toDatabase }, ms) =>
    during(ms, toDatabase.stall, toDatabase.mend),
  "the connections to the database break": async (_, { toDatabase }) => toDatabase.reset(),
  "a node is cut off from the proxy": (_, { fromProxy }, ms) =>
    during(ms, fromProxy.cut, fromProxy.mend),
  "nothing comes from a node any more": (_, { fromProxy }, ms) =>
    during(ms, fromProxy.stall, fromProxy.mend),
  "the database is restarted": async ({ postgres }) => {
    postgres().stop("fast")
    postgres().start()
  },
  "the database is killed": async ({ postgres }, _, ms) => {
    postgres().stop("immediate")
    await pause(ms / 4, lasting)
    postgres().start()
  },
  "the database is frozen": async ({ postgres }, _, ms) => {
    const goOn = postgres().freeze()
    await pause(ms, lasting)
    goOn()
  },
  "a synchronous replica takes over": async (cluster) => {
    const replica = cluster.postgres().replica()
    await cluster.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await cluster.sql("SELECT pg_reload_conf()")
    await isSynchronous(cluster)
    await pause(300, "the replica must take over in the midst of the load")
    takeOver(cluster, replica)
  },
} as const satisfies Readonly<Record<string, Trouble>>

async function during(ms: number, begin: () => void, end: () => void): Promise<void> {
  begin()
  await pause(ms, lasting)
  end()
}

async function isSynchronous(cluster: Cluster): Promise<void> {
  const isSync = async () => {
    const rows = await cluster.sql<{ sync_state: string }>(
      "SELECT sync_state FROM pg_stat_replication",
    )
    return rows.some(({ sync_state }) => sync_state === "sync")
  }
  await until(isSync, { what: "the replica to be synchronous" })
}

function takeOver(cluster: Cluster, replica: Postgres): void {
  cluster.postgres().stop("immediate")
  replica.promote()
  cluster.moveTo(replica)
}

/**
 * A replica that gets nothing more takes over after `meanwhile`, which the primary acknowledges and
 * nobody has any more.
 */
export async function loseTail(cluster: Cluster, meanwhile: () => Promise<void>): Promise<void> {
  const replica = cluster.postgres().replica()
  const sql = replica.sql(replica.cluster)
  await sql.unsafe("ALTER SYSTEM SET primary_conninfo = ''")
  await sql.unsafe("SELECT pg_reload_conf()")
  await until(async () => (await sql.unsafe("SELECT 1 FROM pg_stat_wal_receiver")).length === 0)
  await sql.close()
  await meanwhile()
  takeOver(cluster, replica)
}
