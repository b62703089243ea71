// What befalls nodes, their cables and their database; each is over when the promise resolves.
import type { Postgres } from "../../support/postgres.ts"
import type { Cluster, ClusterNode } from "./cluster.ts"

export type Trouble = (cluster: Cluster, node: ClusterNode, ms: number) => Promise<void>

/** By name; `ms` is for how long it lasts. */
export const troubles = {
  "a node is killed": async (_, node, ms) => {
    await node.running().stop("SIGKILL")
    await Bun.sleep(ms / 4)
    await node.start()
  },
  "a node is paused": async (_, node, ms) => {
    const { process } = node.running()
    process.kill("SIGSTOP")
    await Bun.sleep(ms)
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
    await Bun.sleep(ms / 4)
    postgres().start()
  },
  "a synchronous replica takes over": async (cluster) => {
    const replica = cluster.postgres().replica()
    await cluster.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await cluster.sql("SELECT pg_reload_conf()")
    await isSynchronous(cluster)
    await Bun.sleep(300)
    takeOver(cluster, replica)
  },
} as const satisfies Readonly<Record<string, Trouble>>

async function during(ms: number, begin: () => void, end: () => void): Promise<void> {
  begin()
  await Bun.sleep(ms)
  end()
}

async function isSynchronous(cluster: Cluster): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const rows = await cluster.sql<{ sync_state: string }>(
      "SELECT sync_state FROM pg_stat_replication",
    )
    if (rows.some(({ sync_state }) => sync_state === "sync")) return
    await Bun.sleep(25)
  }
  throw new Error("the replica is not synchronous")
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
  while ((await sql.unsafe("SELECT 1 FROM pg_stat_wal_receiver")).length > 0) await Bun.sleep(25)
  await sql.close()
  await meanwhile()
  takeOver(cluster, replica)
}
