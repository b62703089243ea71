import type { Clock } from "../../../kernel/clock.ts"
import type { Config } from "../../../kernel/config.ts"
import type { Random } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Network } from "../../../runtime/network.ts"
import type { DecryptionKey } from "../../backup/encryption.ts"
import { locationAt } from "../../backup/location.ts"
import { findLabel, listBackupsUntil } from "../../backup/rotation.ts"
import { takeDoctorLock } from "../../folder/doctor-copy.ts"
import type { Folder } from "../../folder/folder.ts"
import { type Finding, ok, problem, warning } from "../finding.ts"
import { checkClocks } from "./clock.ts"
import { checkDiskSpace, type FreeSpaceAt } from "./disk-space.ts"
import type { Checker, MailAnswer } from "./messages.ts"
import { type Progress, runTimed } from "./progress.ts"
import { checkRestore, type RestoreOptions } from "./restore.ts"
import { checkSignIn } from "./sign-in.ts"

export type DeepOptions = {
  readonly config: Config
  readonly folder: Folder
  readonly clock: Clock
  readonly random: Random
  readonly network: Pick<Network, "send">
  readonly roomAt: FreeSpaceAt
  readonly drill: RestoreOptions["drill"]
  /** The recipient of a test email; undefined for none. */
  readonly mailTo: string | undefined
  /** The backup to restore instead of the newest one. */
  readonly backup: string | undefined
  readonly opening: DecryptionKey
  readonly databaseNow: () => Promise<number | undefined>
  /** Provides access to the store: through the running server, or in this process. */
  readonly withChecker: <T>(work: (checker: Checker) => Promise<T>) => Promise<T>
  readonly tell: Progress["tell"]
}

/** The maximum number of instances to check; the others are only counted. */
const instancesMax = 5

/**
 * Runs the deep checks and removes their data: a sign-in, the mail server, a restore of the newest
 * backup, the clock, and the disk space for the next backup.
 */
export async function runDeepChecks(options: DeepOptions): Promise<readonly Finding[]> {
  const lock = takeDoctorLock(options.folder)
  try {
    const newest = await findNewestBackup(options)
    const from = options.backup ?? newest?.file
    const room = { ...options, newest: newest?.name }
    return [
      ...(await checkWithStore(options)),
      ...(await runTimed(options, "restoring the backup", () =>
        checkRestore({ ...options, from }),
      )),
      ...checkDiskSpace(room),
    ]
  } finally {
    lock.release()
  }
}

/** The newest scheduled backup. */
async function findNewestBackup({ config, folder, clock }: DeepOptions) {
  const label = findLabel(folder)
  if (config.backupFolder === undefined || label === undefined) return undefined
  const location = locationAt(config.backupFolder, config)
  const [last] = await listBackupsUntil({ place: location, label }, clock.now())
  return last && { name: last.name, file: location.pathOf(last.name) }
}

async function checkWithStore(options: DeepOptions): Promise<readonly Finding[]> {
  try {
    return await options.withChecker((checker) => checkInstances(checker, options))
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return [problem("sign-in", cause.message, "check the server log")]
  }
}

async function checkInstances(checker: Checker, options: DeepOptions): Promise<readonly Finding[]> {
  const all = await checker.instances()
  if (all.length === 0)
    return [warning("sign-in", "no instance is set up yet", "latchkey setup-link")]
  const some = all.slice(0, instancesMax)
  const findings: Finding[] = []
  for (const { id, publicUrl } of some) {
    const named = (findings: readonly Finding[]): readonly Finding[] =>
      all.length === 1
        ? findings
        : findings.map((each) => ({ ...each, said: `${publicUrl}: ${each.said}` }))
    const signIn = () => checkSignInOf(checker, id, options)
    const mail = async () =>
      describeMailResult(await checker.mail(id, options.mailTo), options.mailTo)
    findings.push(...named(await runTimed(options, "testing the sign-in", signIn)))
    findings.push(...named(await runTimed(options, "testing the mail server", mail)))
  }
  const publicUrls = checker.isPublic ? some.map(({ publicUrl }) => publicUrl) : []
  const clocks = () => checkClocks({ ...options, publicUrls })
  findings.push(...(await runTimed(options, "comparing clocks", clocks)))
  const rest = all.length - some.length
  if (rest === 0) return findings
  return [...findings, ok("instances", `${rest} more were not checked`)]
}

async function checkSignInOf(
  checker: Checker,
  instance: string,
  { random, clock }: DeepOptions,
): Promise<readonly Finding[]> {
  if (await checker.hasOtherVersions()) {
    const text = "not tested while nodes run different versions, which might notify targets"
    return [warning("sign-in", text, "try again when all nodes run this version")]
  }
  const started = await checker.begin(instance)
  if ("notTried" in started) return [ok("sign-in", `not tested: ${started.notTried}`)]
  const found = await (async () => {
    try {
      const lost = await checkHeader(checker, started)
      return lost ?? (await checkSignIn(started, { send: checker.send, random, now: clock.now }))
    } finally {
      await checker.end(instance, started.id)
    }
  })()
  const { left } = await checker.end(instance, started.id)
  if (left.length === 0) return [found]
  const todo = "the next start deletes it"
  return [found, problem("clean-up", `${left.join(", ")} could not be deleted`, todo)]
}

/** Without the header, targets and scripts would run for the temporary user. */
async function checkHeader(
  checker: Checker,
  { publicUrl, token }: { readonly publicUrl: string; readonly token: string },
): Promise<Finding | undefined> {
  const passes = await checker.passesHeader(publicUrl, token)
  if (passes === true) return undefined
  if (passes === undefined) {
    const text = `not tested: ${publicUrl} does not lead to this server from here`
    return problem("sign-in", text, "see the checks of name, tls and proxy above")
  }
  const text = "not tested: the proxy removes the header x-latchkey-self-check"
  return warning("sign-in", text, "make the proxy forward the header")
}

function describeMailResult(answer: MailAnswer, to: string | undefined): readonly Finding[] {
  if (!answer)
    return [warning("mail", "no message provider is configured", "add one in the console")]
  const { kind, done, isSent, steps, reason } = answer
  const passed = steps.map(({ name, detail }) => `${name} (${detail})`).join(", ")
  if (!done) {
    const sofar = passed === "" ? "" : `${passed}; then `
    const todo = "correct it in the console under Message providers, then use Test"
    return [problem("mail", `${sofar}${reason}`, todo)]
  }
  if (isSent) return [ok("mail", `sent to ${to}: ${passed === "" ? "accepted" : passed}`)]
  const text = kind === "smtp" ? passed : "an HTTP service, which was not tested"
  return [ok("mail", `${text}; nothing was sent, use --mail-to ADDRESS to send a test email`)]
}
