import { existsSync } from "node:fs"
import * as z from "zod/mini"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import type { Network } from "../../runtime/network.ts"
import { sendCommand } from "../control.ts"
import { isRunning } from "../folder/claim.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { version } from "../version.ts"
import { checkAddress } from "./address.ts"
import { checkBackups } from "./backup.ts"
import { checkCertificateFiles, checkManagedCertificates } from "./certificate.ts"
import { type Finding, ok, problem, warning } from "./finding.ts"
import { checkClock, checkDisk, checkFolder, checkKey, checkLimits, checkPort } from "./machine.ts"

/** The condition that a running server reports. */
export const serverCondition = z.lazy(() =>
  z.object({
    notReady: z.nullable(z.string()),
    /** The nodes that share the log, including this one; absent for a single server. */
    nodes: z.optional(
      z.array(
        z.object({
          part: z.number(),
          isSelf: z.boolean(),
          /** How long ago the node reported its position, in ms. */
          seenMs: z.number(),
          position: z.number(),
          /** The number of events that the node is behind the log. */
          behind: z._default(z.number(), 0),
          leads: z.boolean(),
          /** The version of the program. */
          version: z._default(z.string(), ""),
        }),
      ),
    ),
    /** When the newest event was written, in ms since the epoch; null if there is none. */
    newest: z.nullable(z.number()),
    /** Some of the hosts that exceed the limit for automatic certificates. */
    hostsBeyond: z._default(z.array(z.string()), []),
    /**
     * Instances whose events are not collected; absent if there is no collector or another node
     * runs it.
     */
    untaken: z.optional(
      z.array(z.object({ instance: z.string(), why: z.string(), since: z.number() })),
    ),
    /**
     * The described configuration: the error of the last run or null, and the number of resources
     * that are not described.
     */
    described: z.optional(
      z.object({ path: z.string(), why: z.nullable(z.string()), beyond: z.number() }),
    ),
    instances: z.array(
      z.object({
        id: z.string(),
        publicUrl: z.string(),
        /** Whether a message provider exists. */
        hasMail: z.boolean(),
        /** Algorithms without an active signing key. */
        keyless: z.array(z.string()),
        /**
         * When the last administrator access expires, or null if never; older servers don't report
         * it.
         */
        ownerless: z.optional(z.nullable(z.string())),
        /**
         * The number of users whose email address is verified only for their organization, up to
         * 1000.
         */
        unconfirmed: z._default(z.number(), 0),
        /** Groups of user IDs with the same verified email address, limited in number. */
        sharedEmails: z._default(z.array(z.array(z.string())), []),
        /**
         * Executions whose changes are rejected because an author is not active, limited in number.
         */
        blockedExecutions: z._default(
          z.array(z.object({ id: z.string(), targetName: z.string() })),
          [],
        ),
      }),
    ),
  }),
)
export type ServerCondition = Readonly<z.output<typeof serverCondition>>

const status = z.lazy(() => z.object({ pid: z.number(), version: z.string() }))
export const awaited = z.lazy(() => z.object({ path: z.string() }))
/** Also sent over the control socket. */
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

export type DoctorOptions = {
  readonly config: Config
  readonly clock: Clock
  readonly network: Pick<Network, "resolve" | "send">
}

/** Runs all checks and returns what is wrong and how to fix it. */
export async function runChecks(options: DoctorOptions): Promise<readonly Finding[]> {
  const folder = folderAt(options.config.data)
  const here = checkFolder(folder)
  if (!existsSync(folder.path)) return here
  const running = (await isRunning(folder)) ? await queryServer(folder) : undefined
  return [
    ...here,
    ...checkKey(folder, options.config),
    ...checkCertificateFiles(options.config, options.clock.now()),
    ...checkManagedCertificates(folder, options.config, options.clock.now()),
    ...(await checkBackups(options.config, options.clock.now())),
    checkDisk(folder),
    checkLimits(running?.pid),
    await checkClock(options.clock.now(), running?.condition.newest ?? null),
    ...(running ? await checkServer(options, folder, running) : await checkStart(options)),
  ]
}

async function queryServer(folder: Folder) {
  const { pid, version: itsVersion } = status.parse(await sendCommand(folder, "status"))
  return {
    pid,
    version: itsVersion,
    condition: serverCondition.parse(await sendCommand(folder, "condition")),
  }
}

async function checkStart({ config }: DoctorOptions): Promise<Finding[]> {
  return [
    warning("server", `no server runs on ${config.data}`, `latchkey serve --data ${config.data}`),
    ...("path" in config.listen ? [] : [await checkPort("--listen", config.listen)]),
    await checkPort("--grpc-listen", config.grpcListen),
    ...(config.metricsListen ? [await checkPort("--metrics-listen", config.metricsListen)] : []),
  ]
}

type Server = Awaited<ReturnType<typeof queryServer>>

async function checkServer(
  { clock, network, config }: DoctorOptions,
  folder: Folder,
  server: Server,
): Promise<Finding[]> {
  const { instances, notReady, hostsBeyond } = server.condition
  const findings = [
    notReady === null
      ? ok("server", `version ${server.version} is running (pid ${server.pid})`)
      : problem("server", `not ready: ${notReady}`, "check the server log"),
    ...(server.version === version
      ? []
      : [warning("server", `this program is version ${version}`, "restart the server")]),
    ...nodeFindings(server.condition),
    ...collectorFindings(server.condition, clock.now()),
    ...describedFindings(server.condition),
    ...(config.tls && hostsBeyond.length > 0 ? [tooManyHostsFinding(hostsBeyond)] : []),
    ...(instances.length > 0
      ? []
      : [warning("set-up", "there is no owner", "latchkey setup-link")]),
  ]
  const awaitRequest = async () => {
    const { path } = awaited.parse(await sendCommand(folder, "await-request"))
    const readObserved = async () =>
      arrived.parse(await sendCommand(folder, "arrived", { path })) ?? undefined
    return { path, arrived: readObserved }
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
        ? ok("mail", "a message provider exists; use Test in the console")
        : warning(
            "mail",
            "no message provider: messages wait in the outbox",
            "add one in the console",
          ),
      ...(ownerless === undefined ? [] : [ownerFinding(ownerless ?? undefined)]),
      ...emailFindings(emails),
      ...blockedFindings(blockedExecutions),
      keyless.length === 0
        ? ok("keys", "every algorithm in use has a signing key")
        : problem(
            "keys",
            `no signing key for ${keyless.join(", ")}`,
            "activate a key in the console",
          ),
    )
  }
  return findings
}

/** The finding for one instance, by when the last administrator access expires. */
export const ownerFinding = (when: string | undefined): Finding =>
  when === undefined
    ? ok("owner", "an administrator has access that does not expire")
    : warning(
        "owner",
        `no administrator can access the instance ${when}`,
        "give an owner a password, a secret, or a key that does not expire",
      )

type Emails = Pick<ServerCondition["instances"][number], "unconfirmed" | "sharedEmails">

/** The findings about the verified email addresses of one instance. */
export const emailFindings = ({ unconfirmed, sharedEmails }: Emails): Finding[] => [
  ...(unconfirmed === 0
    ? []
    : [
        warning(
          "emails",
          `${unconfirmed} users have an email address that is verified only for their ` +
            "organization",
          "run latchkey users confirm-emails if you trust these addresses; otherwise the " +
            "users must verify them",
        ),
      ]),
  ...sharedEmails.map((ids) =>
    warning(
      "emails",
      `the users ${ids.join(", ")} have the same verified email address, possibly in ` +
        "different spellings",
      "the user who verified it last can sign in with it; the others must use their login names",
    ),
  ),
]

/** The findings about executions whose targets can't change requests, for one instance. */
export const blockedFindings = (
  blocked: ServerCondition["instances"][number]["blockedExecutions"],
): Finding[] =>
  blocked.map(({ id, targetName }) =>
    warning(
      "executions",
      `the target ${targetName} can't change anything at ${id}: a user who configured the ` +
        "target or the execution was deactivated, locked or deleted, so the changed requests " +
        "are rejected",
      "have an active administrator save the execution again, or the endpoint of the target",
    ),
  )

const tooManyHostsFinding = (hosts: readonly string[]): Finding =>
  problem(
    "tls",
    `too many hosts: ${hosts.join(", ")} and perhaps others get no certificate`,
    "remove unused domains, or run a proxy with its own certificates in front",
  )

function collectorFindings({ untaken }: ServerCondition, now: number): Finding[] {
  if (untaken === undefined) return []
  if (untaken.length === 0) return [ok("audit", "the collector receives events")]
  return untaken.map(({ instance, why: reason, since }) => {
    const minutes = Math.floor((now - since) / 60_000)
    const message =
      `the collector has not accepted events of ${instance} for ${minutes} min: ` + `${reason}`
    return problem(
      "audit",
      message,
      "fix the collector so that it responds with 2xx: no events are lost for a day",
    )
  })
}

function describedFindings({ described }: ServerCondition): Finding[] {
  if (described === undefined) return []
  const { path, why: reason, beyond } = described
  if (reason === null)
    return [ok("apply", `everything matches ${path}; ${beyond} resources are not described`)]
  return [
    problem(
      "apply",
      `${path} is not applied: ${reason}`,
      "fix the files: they are applied again every minute",
    ),
  ]
}

/** Each node reports its position every second. */
const nodeLateMs = 10_000
/** A node that has not reported for this long was removed. */
const nodeRemovedMs = 3_600_000

function nodeFindings({ nodes = [] }: ServerCondition): Finding[] {
  return nodes
    .filter(({ isSelf, seenMs }) => isSelf || seenMs < nodeRemovedMs)
    .map(({ part, isSelf, seenMs, position, behind, leads, version }) => {
      const name = `node ${part}${isSelf ? ", this one," : ""}`
      if (seenMs > nodeLateMs) {
        const seconds = Math.round(seenMs / 1000)
        const message = `${name} has not reported for ${seconds} s`
        return warning("nodes", message, "start it again if it should be running")
      }
      const of = version === "" ? "" : `, of version ${version}`
      const rest = behind === 0 ? "" : `, ${behind} events behind`
      const works = leads ? "; it sends email and rotates keys" : ""
      return ok("nodes", `${name} is at position ${position} of the log${rest}${of}${works}`)
    })
}
