import type { Clock } from "../../../kernel/clock.ts"
import type { Config } from "../../../kernel/config.ts"
import type { Random } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Network } from "../../../runtime/network.ts"
import type { Opening } from "../../backup/encryption.ts"
import { placeAt } from "../../backup/place.ts"
import { backupsUntil, knownLabel } from "../../backup/rotation.ts"
import { takeDoctorLock } from "../../folder/doctor-copy.ts"
import type { Folder } from "../../folder/folder.ts"
import { type Finding, ok, warning, wrong } from "../finding.ts"
import { checkClocks } from "./clock.ts"
import type { Checker, MailAnswer } from "./part.ts"
import { type Progress, timed } from "./progress.ts"
import { checkRestore, type RestoreOptions } from "./restored.ts"
import { checkRoom, type RoomAt } from "./room.ts"
import { checkSignIn } from "./sign-in.ts"

export type DeepOptions = {
  readonly config: Config
  readonly folder: Folder
  readonly clock: Clock
  readonly random: Random
  readonly network: Pick<Network, "send">
  readonly roomAt: RoomAt
  readonly drill: RestoreOptions["drill"]
  /** Who gets a test mail; undefined for nobody. */
  readonly mailTo: string | undefined
  /** The backup to restore instead of the newest. */
  readonly backup: string | undefined
  readonly opening: Opening
  readonly databaseNow: () => Promise<number | undefined>
  /** Lends what only the store's owner can do: the server that runs, or this process. */
  readonly withChecker: <T>(work: (checker: Checker) => Promise<T>) => Promise<T>
  readonly tell: Progress["tell"]
}

/** So many instances are tried; the others are named by their number. */
const instancesMax = 5

/**
 * Tries what a server is for, and removes what it made: a sign-in, the mail server, the restore of
 * the newest backup, the clock, and the room for the next backup.
 */
export async function examineDeep(options: DeepOptions): Promise<readonly Finding[]> {
  const lock = takeDoctorLock(options.folder)
  try {
    const newest = await newestOf(options)
    const from = options.backup ?? newest?.file
    const room = { ...options, newest: newest?.name }
    return [
      ...(await withStore(options)),
      ...(await timed(options, "restoring the backup", () => checkRestore({ ...options, from }))),
      ...checkRoom(room),
    ]
  } finally {
    lock.release()
  }
}

/** The newest backup that was made by itself. */
async function newestOf({ config, folder, clock }: DeepOptions) {
  const label = knownLabel(folder)
  if (config.backupFolder === undefined || label === undefined) return undefined
  const place = placeAt(config.backupFolder, config)
  const [last] = await backupsUntil({ place, label }, clock.now())
  return last && { name: last.name, file: place.called(last.name) }
}

async function withStore(options: DeepOptions): Promise<readonly Finding[]> {
  try {
    return await options.withChecker((checker) => checkInstances(checker, options))
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return [wrong("sign-in", cause.message, "see the server's log")]
  }
}

async function checkInstances(checker: Checker, options: DeepOptions): Promise<readonly Finding[]> {
  const all = await checker.instances()
  if (all.length === 0) return [warning("sign-in", "nothing is set up yet", "latchkey setup-link")]
  const some = all.slice(0, instancesMax)
  const findings: Finding[] = []
  for (const { id, publicUrl } of some) {
    const named = (found: readonly Finding[]): readonly Finding[] =>
      all.length === 1
        ? found
        : found.map((each) => ({ ...each, said: `${publicUrl}: ${each.said}` }))
    const signIn = () => signInOn(checker, id, options)
    const mail = async () => mailFindings(await checker.mail(id, options.mailTo), options.mailTo)
    findings.push(...named(await timed(options, "signing a user in", signIn)))
    findings.push(...named(await timed(options, "trying the mail server", mail)))
  }
  const publicUrls = checker.isPublic ? some.map(({ publicUrl }) => publicUrl) : []
  const clocks = () => checkClocks({ ...options, publicUrls })
  findings.push(...(await timed(options, "comparing clocks", clocks)))
  const rest = all.length - some.length
  if (rest === 0) return findings
  return [...findings, ok("instances", `${rest} more were not tried`)]
}

async function signInOn(
  checker: Checker,
  instance: string,
  { random, clock }: DeepOptions,
): Promise<readonly Finding[]> {
  if (await checker.hasOtherVersions()) {
    const said = "not tried while nodes run different versions, which might notify targets"
    return [warning("sign-in", said, "try again when all nodes run this version")]
  }
  const begun = await checker.begin(instance)
  if ("notTried" in begun) return [ok("sign-in", `not tried: ${begun.notTried}`)]
  const found = await (async () => {
    try {
      const lost = await headerFinding(checker, begun)
      return lost ?? (await checkSignIn(begun, { send: checker.send, random, now: clock.now }))
    } finally {
      await checker.end(instance, begun.id)
    }
  })()
  const { left } = await checker.end(instance, begun.id)
  if (left.length === 0) return [found]
  const todo = "the next start removes it"
  return [found, wrong("clean-up", `${left.join(", ")} could not be removed`, todo)]
}

/** Without the header targets and scripts would run for the temporary user. */
async function headerFinding(
  checker: Checker,
  { publicUrl, token }: { readonly publicUrl: string; readonly token: string },
): Promise<Finding | undefined> {
  const passes = await checker.passesHeader(publicUrl, token)
  if (passes === true) return undefined
  if (passes === undefined) {
    const said = `not tried: ${publicUrl} does not lead to this server from here`
    return wrong("sign-in", said, "see the lines on name, tls and proxy above")
  }
  const said = "not tried: the proxy removes the header x-latchkey-self-check"
  return warning("sign-in", said, "have the proxy pass it on")
}

function mailFindings(answer: MailAnswer, to: string | undefined): readonly Finding[] {
  if (!answer) return [warning("mail", "there is no provider", "add one in the console")]
  const { kind, done, isSent, steps, reason } = answer
  const passed = steps.map(({ name, detail }) => `${name} (${detail})`).join(", ")
  if (!done) {
    const sofar = passed === "" ? "" : `${passed}; then `
    const todo = "correct it in the console, Message providers, and try it with Test"
    return [wrong("mail", `${sofar}${reason}`, todo)]
  }
  if (isSent) return [ok("mail", `sent to ${to}: ${passed === "" ? "accepted" : passed}`)]
  const said = kind === "smtp" ? passed : "an HTTP service, which was not tried"
  return [ok("mail", `${said}; nothing was sent, --mail-to ADDRESS sends a test mail`)]
}
