import { existsSync } from "node:fs"
import * as z from "zod/mini"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import type { Network } from "../../runtime/network.ts"
import { ask } from "../control.ts"
import { isRunning } from "../folder/claim.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { version } from "../version.ts"
import { checkAddress } from "./address.ts"
import { checkBackups } from "./backup.ts"
import { checkFiles, checkKept } from "./certificate.ts"
import { type Finding, ok, warning, wrong } from "./finding.ts"
import { checkClock, checkDisk, checkFolder, checkKey, checkLimits, checkPort } from "./machine.ts"

/** What a running server says of itself. */
export const condition = z.lazy(() =>
  z.object({
    notReady: z.nullable(z.string()),
    /** Those that share a log with it, and it itself; absent where it is alone. */
    nodes: z.optional(
      z.array(
        z.object({
          part: z.number(),
          isSelf: z.boolean(),
          /** How long ago it said where it is, in ms. */
          seenMs: z.number(),
          position: z.number(),
          /** So many events the log has beyond that. */
          behind: z._default(z.number(), 0),
          leads: z.boolean(),
          /** Of its program. */
          version: z._default(z.string(), ""),
        }),
      ),
    ),
    /** When the newest event was written, in ms UTC; null where there is none. */
    newest: z.nullable(z.number()),
    /** Some of the hosts for which there are too many to have certificates by themselves. */
    hostsBeyond: z._default(z.array(z.string()), []),
    /** Instances whose events are not collected; absent where nobody collects, or another node. */
    untaken: z.optional(
      z.array(z.object({ instance: z.string(), why: z.string(), since: z.number() })),
    ),
    /** Files that the server is made after: why it isn't, or null; how much is there beside. */
    described: z.optional(
      z.object({ path: z.string(), why: z.nullable(z.string()), beyond: z.number() }),
    ),
    instances: z.array(
      z.object({
        id: z.string(),
        publicUrl: z.string(),
        /** Whether mails can go out. */
        hasMail: z.boolean(),
        /** Algorithms that nothing can be signed with. */
        keyless: z.array(z.string()),
        /** When nobody can administer it any more, or null for never; older servers don't say. */
        ownerless: z.optional(z.nullable(z.string())),
        /** Users whose address is verified for their own organization alone, up to 1000. */
        unconfirmed: z._default(z.number(), 0),
        /** Ids of users who have the same verified address, some of them. */
        sharedEmails: z._default(z.array(z.array(z.string())), []),
        /** Executions whose changes are refused, since an author is not active; some of them. */
        blockedExecutions: z._default(
          z.array(z.object({ id: z.string(), targetName: z.string() })),
          [],
        ),
      }),
    ),
  }),
)
export type Condition = Readonly<z.output<typeof condition>>

const status = z.lazy(() => z.object({ pid: z.number(), version: z.string() }))
export const awaited = z.lazy(() => z.object({ path: z.string() }))
/** Also what comes in through the control socket. */
export const arrivedRequest = z.lazy(() => z.strictObject({ path: z.string() }))
export const arrived = z.lazy(() =>
  z.nullable(
    z.object({
      host: z.string(),
      peer: z.string(),
      isRelayed: z.boolean(),
      isSelfCheck: z.optional(z.boolean()),
    }),
  ),
)

export type Examined = {
  readonly config: Config
  readonly clock: Clock
  readonly network: Pick<Network, "resolve" | "send">
}

/** Looks at everything that a server needs, and says of each what is amiss and what to do. */
export async function examine(examined: Examined): Promise<readonly Finding[]> {
  const folder = folderAt(examined.config.data)
  const here = checkFolder(folder)
  if (!existsSync(folder.path)) return here
  const running = (await isRunning(folder)) ? await askServer(folder) : undefined
  return [
    ...here,
    ...checkKey(folder, examined.config),
    ...checkFiles(examined.config, examined.clock.now()),
    ...checkKept(folder, examined.config, examined.clock.now()),
    ...(await checkBackups(examined.config, examined.clock.now())),
    checkDisk(folder),
    checkLimits(running?.pid),
    await checkClock(examined.clock.now(), running?.condition.newest ?? null),
    ...(running ? await checkServer(examined, folder, running) : await checkStart(examined)),
  ]
}

async function askServer(folder: Folder) {
  const { pid, version: itsVersion } = status.parse(await ask(folder, "status"))
  return { pid, version: itsVersion, condition: condition.parse(await ask(folder, "condition")) }
}

async function checkStart({ config }: Examined): Promise<Finding[]> {
  return [
    warning("server", `none runs on ${config.data}`, `latchkey serve --data ${config.data}`),
    ...("path" in config.listen ? [] : [await checkPort("--listen", config.listen)]),
    await checkPort("--grpc-listen", config.grpcListen),
    ...(config.metricsListen ? [await checkPort("--metrics-listen", config.metricsListen)] : []),
  ]
}

type Server = Awaited<ReturnType<typeof askServer>>

async function checkServer(
  { clock, network, config }: Examined,
  folder: Folder,
  server: Server,
): Promise<Finding[]> {
  const { instances, notReady, hostsBeyond } = server.condition
  const findings = [
    notReady === null
      ? ok("server", `version ${server.version} runs (pid ${server.pid})`)
      : wrong("server", `not ready: ${notReady}`, "see its log"),
    ...(server.version === version
      ? []
      : [warning("server", `this program is version ${version}`, "restart the server")]),
    ...nodeFindings(server.condition),
    ...collectorFindings(server.condition, clock.now()),
    ...describedFindings(server.condition),
    ...(config.tls && hostsBeyond.length > 0 ? [tooManyHosts(hostsBeyond)] : []),
    ...(instances.length > 0 ? [] : [warning("set-up", "nobody owns it", "latchkey setup-link")]),
  ]
  const awaitRequest = async () => {
    const { path } = awaited.parse(await ask(folder, "await-request"))
    const look = async () => arrived.parse(await ask(folder, "arrived", { path })) ?? undefined
    return { path, arrived: look }
  }
  for (const {
    publicUrl,
    hasMail,
    keyless,
    ownerless,
    blockedExecutions,
    ...emails
  } of instances) {
    findings.push(
      ok("address", publicUrl),
      ...(await checkAddress({ publicUrl, network, now: clock.now(), awaitRequest })),
      hasMail
        ? ok("mail", "there is a provider, which the console can try")
        : warning("mail", "no provider: messages wait in the outbox", "add one in the console"),
      ...(ownerless === undefined ? [] : [ownerFinding(ownerless ?? undefined)]),
      ...emailFindings(emails),
      ...blockedFindings(blockedExecutions),
      keyless.length === 0
        ? ok("keys", "every algorithm in use has a key that signs")
        : wrong(
            "keys",
            `nothing signs with ${keyless.join(", ")}`,
            "activate a key in the console",
          ),
    )
  }
  return findings
}

/** Of one instance, by when nobody can administer it any more. */
export const ownerFinding = (when: string | undefined): Finding =>
  when === undefined
    ? ok("owner", "somebody can administer it, by what does not expire")
    : warning(
        "owner",
        `nobody can administer it ${when}`,
        "give one of its owners a password or a secret, or a key that does not expire",
      )

type Emails = Pick<Condition["instances"][number], "unconfirmed" | "sharedEmails">

/** Of one instance, by how its users' addresses are verified. */
export const emailFindings = ({ unconfirmed, sharedEmails }: Emails): Finding[] => [
  ...(unconfirmed === 0
    ? []
    : [
        warning(
          "emails",
          `${unconfirmed} users have an address verified for their organization alone`,
          "latchkey users confirm-emails, if you vouch for them; or have the users prove them",
        ),
      ]),
  ...sharedEmails.map((ids) =>
    warning(
      "emails",
      `users ${ids.join(", ")} have the same verified address, in one spelling or several`,
      "whoever proves it last signs in by it; the others sign in by their login name",
    ),
  ),
]

/** Of one instance, by the executions that its targets can't change anything at. */
export const blockedFindings = (
  blocked: Condition["instances"][number]["blockedExecutions"],
): Finding[] =>
  blocked.map(({ id, targetName }) =>
    warning(
      "executions",
      `the target ${targetName} can't change anything at ${id}: a user who set the target or the ` +
        "execution was deactivated, locked or removed, so requests that it changes are refused",
      "have an active administrator set the execution again, or the endpoint of the target",
    ),
  )

const tooManyHosts = (hosts: readonly string[]): Finding =>
  wrong(
    "tls",
    `there are too many hosts: ${hosts.join(", ")} and perhaps more get no certificate`,
    "remove domains that nobody uses, or put a proxy in front that has certificates",
  )

function collectorFindings({ untaken }: Condition, now: number): Finding[] {
  if (untaken === undefined) return []
  if (untaken.length === 0) return [ok("audit", "the collector takes what happens")]
  return untaken.map(({ instance, why, since }) => {
    const minutes = Math.floor((now - since) / 60_000)
    const said = `the collector has not taken events of ${instance} for ${minutes} min: ${why}`
    return wrong("audit", said, "have it answer with 2xx: nothing is lost for a day")
  })
}

function describedFindings({ described }: Condition): Finding[] {
  if (described === undefined) return []
  const { path, why, beyond } = described
  if (why === null) return [ok("apply", `all is as ${path} describes; ${beyond} things beside it`)]
  return [wrong("apply", `${path} is not applied: ${why}`, "mend it: it is tried each minute")]
}

/** Each says where it is every second. */
const nodeLateMs = 10_000
/** Who was not heard of for so long has been taken away. */
const nodeGoneMs = 3_600_000

function nodeFindings({ nodes = [] }: Condition): Finding[] {
  return nodes
    .filter(({ isSelf, seenMs }) => isSelf || seenMs < nodeGoneMs)
    .map(({ part, isSelf, seenMs, position, behind, leads, version }) => {
      const name = `node ${part}${isSelf ? ", this one," : ""}`
      if (seenMs > nodeLateMs) {
        const seconds = Math.round(seenMs / 1000)
        const said = `${name} was not heard of for ${seconds} s`
        return warning("nodes", said, "start it again, if it should be there")
      }
      const of = version === "" ? "" : `, of version ${version}`
      const rest = behind === 0 ? "" : `, ${behind} events behind`
      const works = leads ? "; it sends mails and rotates keys" : ""
      return ok("nodes", `${name} has the log up to position ${position}${rest}${of}${works}`)
    })
}
