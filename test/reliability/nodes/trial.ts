// Nodes under load and in trouble, and what a judge of their history says.
import { brokenPromises, complaintsAbout, wonTwice } from "../../support/history.ts"
import { pause, until } from "../../support/wait.ts"
import { audit } from "../audit.ts"
import type { Cluster } from "./cluster.ts"
import { type Seen, startCrowd } from "./load.ts"
import type { Trouble } from "./trouble.ts"

type Plan = {
  readonly writers: number
  readonly readers: number
  /** In this order, each to the next node. */
  readonly troubles: readonly (readonly [name: string, trouble: Trouble, ms: number])[]
}

export type TrialOutcome = {
  readonly complaints: readonly string[]
  readonly figures: Readonly<Record<string, number>>
}

export async function tryNodes(cluster: Cluster, plan: Plan): Promise<TrialOutcome> {
  await sendMails(cluster)
  const { seen, stop } = await startCrowd(cluster, plan)
  const troubled: string[] = []
  for (const [turn, [name, trouble, ms]] of plan.troubles.entries()) {
    const node = cluster.nodes[turn % cluster.nodes.length]
    if (!node) throw new Error("a cluster has nodes")
    try {
      await trouble(cluster, node, ms)
      await cluster.ready()
    } catch (cause) {
      troubled.push(`${name}: ${String(cause)}`)
      break
    }
    await pause(300, "the load goes on for a moment between two troubles")
  }
  await stop()
  const complaints = [...troubled, ...(await judged(cluster, seen))]
  return { complaints, figures: figuresOf(seen, plan) }
}

async function sendMails({ client, mails }: Cluster): Promise<void> {
  const admin = async (name: string, request: object) => {
    const answer = await fetch(`${client.url}/core.admin.v1.AdminService/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${client.token}` },
      body: JSON.stringify(request),
    })
    return answer.json()
  }
  const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
  const { id } = await admin("AddEmailProviderSMTP", { ...smtp, host: `127.0.0.1:${mails.port}` })
  await admin("ActivateEmailProvider", { id })
}

function figuresOf({ deeds, tries, toldUsers }: Seen, { troubles }: Plan) {
  const writes = deeds.filter(({ kind }) => kind === "write")
  return {
    troubles: troubles.length,
    writes: writes.length,
    unanswered: writes.filter(({ ended }) => ended === undefined).length,
    reads: deeds.length - writes.length,
    tries: tries.length,
    users: toldUsers.length,
  }
}

async function judged(cluster: Cluster, seen: Seen): Promise<readonly string[]> {
  await cluster.ready()
  const { deeds, tries, askedUsers: asked, toldUsers: acknowledged } = seen
  const mails = await mailsOf(cluster, acknowledged)
  return [
    ...complaintsAbout(deeds),
    ...wonTwice(tries),
    ...brokenPromises({ what: "user", asked, acknowledged, found: await usersOf(cluster) }),
    ...brokenPromises({ what: "mail to", asked, acknowledged, found: mails }),
    ...(await countedTwice(cluster)),
    ...(await lostWrites(cluster, seen)),
    ...(await filesOf(cluster)),
  ]
}

const usersOf = async (cluster: Cluster) =>
  (
    await cluster.sql<{ id: string; position: string }>(
      `SELECT id, position FROM latchkey.event
       WHERE stream = 'user' AND version = 1 AND id LIKE 'user-%'`,
    )
  ).map(({ id, position }) => ({ name: id, mark: String(position) }))

/** Waits for those that are owed; one that comes again is the same by its Message-ID. */
async function mailsOf({ mails }: Cluster, owed: readonly string[]) {
  const arrived = () =>
    mails.received.flatMap(({ mail, recipients }) =>
      recipients.map((to) => ({ name: to.split("@")[0] ?? "", mark: mail.messageId ?? "" })),
    )
  const areThere = () => {
    const names = new Set(arrived().map(({ name }) => name))
    return owed.every((name) => names.has(name))
  }
  // What has not come by then is a complaint of the trial.
  await until(areThere, { limitMs: 60_000 }).catch(() => undefined)
  return arrived()
}

/** A refresh token that was renewed twice has two events of one generation. */
async function countedTwice(cluster: Cluster): Promise<readonly string[]> {
  const rows = await cluster.sql<{ id: string }>(
    `SELECT id FROM latchkey.event WHERE type = 'oidc_session.refresh_token.renewed'
     GROUP BY id, data::json->>'generation' HAVING count(*) > 1`,
  )
  return rows.map(({ id }) => `a refresh token of ${id} was renewed twice`)
}

/** Names that a register was acknowledged to have had are in the log, each once. */
async function lostWrites(cluster: Cluster, { deeds }: Seen): Promise<readonly string[]> {
  const rows = await cluster.sql<{ name: string; position: string }>(
    `SELECT data::json->>'name' AS name, position FROM latchkey.event
     WHERE stream = 'project' AND version > 1 AND data::json->>'name' IS NOT NULL`,
  )
  const writes = deeds.filter(({ kind }) => kind === "write")
  const named = (all: typeof writes) => all.map(({ value = "" }) => value)
  return brokenPromises({
    what: "name",
    asked: new Set(named(writes)),
    acknowledged: named(writes.filter(({ ended }) => ended !== undefined)),
    found: rows.map(({ name, position }) => ({ name, mark: String(position) })),
  })
}

/** Each node's own file is whole, and all have the same events. */
async function filesOf({ nodes }: Cluster): Promise<readonly string[]> {
  const complaints: string[] = []
  for (const node of nodes) {
    await node.running().stop("SIGKILL")
    const found = await audit(`${node.data}/latchkey.db`)
    complaints.push(...found.map((text) => `${node.data}: ${text}`))
    await node.start()
  }
  return complaints
}
