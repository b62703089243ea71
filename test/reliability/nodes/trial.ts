// Nodes with failures under load, and the checks of their history.
import { findDoubleWins, findHistoryErrors, findLostWork } from "../../support/history.ts"
import { pause, until } from "../../support/wait.ts"
import { audit } from "../audit.ts"
import type { Cluster } from "./cluster.ts"
import type { Failure } from "./failure.ts"
import { type History, startClients } from "./load.ts"

type TrialPlan = {
  readonly writers: number
  readonly readers: number
  /** In this order, each on the next node. */
  readonly troubles: readonly (readonly [name: string, trouble: Failure, ms: number])[]
}

export type TrialOutcome = {
  readonly complaints: readonly string[]
  readonly figures: Readonly<Record<string, number>>
}

export async function runTrial(cluster: Cluster, plan: TrialPlan): Promise<TrialOutcome> {
  await sendMails(cluster)
  const { history: seen, stop } = await startClients(cluster, plan)
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
  const complaints = [...troubled, ...(await checkHistory(cluster, seen))]
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

function figuresOf(
  { deeds, tries, acknowledgedUsers: toldUsers }: History,
  { troubles }: TrialPlan,
) {
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

async function checkHistory(cluster: Cluster, seen: History): Promise<readonly string[]> {
  await cluster.ready()
  const { deeds, tries, requestedUsers: asked, acknowledgedUsers: acknowledged } = seen
  const mails = await listMails(cluster, acknowledged)
  return [
    ...findHistoryErrors(deeds),
    ...findDoubleWins(tries),
    ...findLostWork({
      what: "user",
      requested: asked,
      acknowledged,
      found: await listUsers(cluster),
    }),
    ...findLostWork({ what: "mail to", requested: asked, acknowledged, found: mails }),
    ...(await findDoubleRenewals(cluster)),
    ...(await findLostWrites(cluster, seen)),
    ...(await checkFiles(cluster)),
  ]
}

const listUsers = async (cluster: Cluster) =>
  (
    await cluster.sql<{ id: string; position: string }>(
      `SELECT id, position FROM latchkey.event
       WHERE stream = 'user' AND version = 1 AND id LIKE 'user-%'`,
    )
  ).map(({ id, position }) => ({ name: id, mark: String(position) }))

/** Waits for the owed emails; a repetition has the same Message-ID. */
async function listMails({ mails }: Cluster, pending: readonly string[]) {
  const arrived = () =>
    mails.received.flatMap(({ mail, recipients }) =>
      recipients.map((to) => ({ name: to.split("@")[0] ?? "", mark: mail.messageId ?? "" })),
    )
  const areThere = () => {
    const names = new Set(arrived().map(({ name }) => name))
    return pending.every((name) => names.has(name))
  }
  // An email that is still missing becomes a complaint.
  await until(areThere, { limitMs: 60_000 }).catch(() => undefined)
  return arrived()
}

/** A refresh token that was renewed twice has two events of one generation. */
async function findDoubleRenewals(cluster: Cluster): Promise<readonly string[]> {
  const rows = await cluster.sql<{ id: string }>(
    `SELECT id FROM latchkey.event WHERE type = 'oidc_session.refresh_token.renewed'
     GROUP BY id, data::json->>'generation' HAVING count(*) > 1`,
  )
  return rows.map(({ id }) => `a refresh token of ${id} was renewed twice`)
}

/** The acknowledged names of a register are in the log, once each. */
async function findLostWrites(cluster: Cluster, { deeds }: History): Promise<readonly string[]> {
  const rows = await cluster.sql<{ name: string; position: string }>(
    `SELECT data::json->>'name' AS name, position FROM latchkey.event
     WHERE stream = 'project' AND version > 1 AND data::json->>'name' IS NOT NULL`,
  )
  const writes = deeds.filter(({ kind }) => kind === "write")
  const named = (all: typeof writes) => all.map(({ value = "" }) => value)
  return findLostWork({
    what: "name",
    requested: new Set(named(writes)),
    acknowledged: named(writes.filter(({ ended }) => ended !== undefined)),
    found: rows.map(({ name, position }) => ({ name, mark: String(position) })),
  })
}

/** Each node's own file is intact, and all have the same events. */
async function checkFiles({ nodes }: Cluster): Promise<readonly string[]> {
  const complaints: string[] = []
  for (const node of nodes) {
    await node.running().stop("SIGKILL")
    const found = await audit(`${node.data}/latchkey.db`)
    complaints.push(...found.map((text) => `${node.data}: ${text}`))
    await node.start()
  }
  return complaints
}
