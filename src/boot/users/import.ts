import { createHash } from "node:crypto"
import { Fault } from "../../kernel/fault.ts"
import type { UserImportRequest, UserResult, UserTransfer } from "./messages.ts"
import type { Part } from "./names.ts"
import { entryMax } from "./source/text.ts"
import {
  type FileEntry,
  type ReadUser,
  type TransferUser,
  type UserSource,
  userSchema,
} from "./user.ts"

/**
 * A user who could not be imported: the position in the file, the name if known, and the reason.
 */
type FailedUser = {
  readonly at: string
  readonly name: string
  readonly id: string
  readonly message: string
}

export type ImportResult = {
  readonly taken: number
  /** The number of existing users, who are not changed. */
  readonly there: number
  /** The number of entries that are not users, such as service accounts. */
  readonly passed: number
  readonly refused: readonly FailedUser[]
}

export type ImportOptions = Pick<
  UserImportRequest,
  "instance" | "orgId" | "projectId" | "dryRun"
> & {
  readonly without: ReadonlySet<Part>
  /** IDs of identity providers by their names in the source; "" skips their links. */
  readonly providers: ReadonlyMap<string, string>
  /** Whether email addresses are verified if the source does not say. */
  readonly trustsEmails: boolean
}

/** The maximum size of a part, small enough that other requests are not delayed. */
const partMax = { people: 50, letters: 100_000 } as const

type PendingUser = { readonly entry: FileEntry; readonly given: TransferUser }

/**
 * Reads the whole source and then imports its users in parts, so an invalid file changes nothing.
 */
export async function importUsers(
  carrier: UserTransfer,
  source: UserSource,
  options: ImportOptions,
): Promise<ImportResult> {
  for await (const _ of source.entries());
  const refused: FailedUser[] = []
  const counts = { taken: 0, there: 0, passed: 0 }
  let [session, waiting, letters]: [string | undefined, PendingUser[], number] = [undefined, [], 0]
  const { without: _w, providers: _p, trustsEmails: _t, ...requestOptions } = options
  const send = async (isLast: boolean) => {
    const people = waiting.map(({ given: user }) => user)
    const known = session === undefined ? {} : { session }
    const part = await carrier.takePeople({ ...requestOptions, ...known, people, isLast })
    session = part.session
    for (const [at, outcome] of part.outcomes.entries()) {
      const who = waiting[at]
      if (outcome.became !== "refused") counts[outcome.became]++
      else if (who) refused.push(failureOf(who.entry, who.given, outcome))
    }
    ;[waiting, letters] = [[], 0]
  }
  // The position of the first entry for each ID.
  const seen = new Map<string, string>()
  for await (const entry of source.entries()) {
    const user = readEntry(source, entry, options)
    if (user === undefined) counts.passed++
    else if ("message" in user) refused.push(user)
    else if (seen.has(user.id)) refused.push(duplicateFailure(entry, user, seen.get(user.id)))
    else {
      seen.set(user.id, entry.at)
      waiting.push({ entry, given: user })
      letters += sizeOf(user)
      if (waiting.length >= partMax.people || letters > partMax.letters) await send(false)
    }
  }
  await send(true)
  return { ...counts, refused }
}

function readEntry(
  source: UserSource,
  { at, value, problem }: FileEntry,
  options: ImportOptions,
): TransferUser | FailedUser | undefined {
  try {
    if (problem !== undefined) throw entryFault(problem)
    const read = source.read(value)
    const complete = read && completeUser(read, options)
    if (complete && sizeOf(complete) > entryMax)
      throw entryFault("the entry exceeds the maximum size of a user")
    return complete
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return { at, name: guessName(value), id: cause.id, message: cause.message }
  }
}

const sizeOf = (user: TransferUser): number => JSON.stringify(user).length

/** Removes the skipped parts, derives missing fields, and throws for data that would be lost. */
function completeUser({ lost = [], ...user }: ReadUser, options: ImportOptions): TransferUser {
  const { without, trustsEmails } = options
  const missing = lost.find(({ part }) => !without.has(part))
  if (missing) throw lostError(missing.why, missing.part)
  const parsed = userSchema.safeParse(user)
  if (!parsed.success) throw entryFault("a field of this user has the wrong type")
  const complete = parsed.data
  const email = complete.email ?? emailFrom(complete.userName)
  if (complete.userName === "") throw entryFault("a user name or an email address is required")
  if (!email) throw entryFault("an email address is required for each user")
  if (complete.roles.length > 0 && options.projectId === undefined && !without.has("roles")) {
    const reason = `the roles (${complete.roles.join(", ")}) need a project: name it with --project`
    throw lostError(reason, "roles")
  }
  return {
    ...complete,
    ...completeNames(complete),
    id: complete.id || derivedId(complete.userName),
    email: { ...email, verified: email.verified || trustsEmails },
    hash: without.has("passwords") ? "" : complete.hash,
    totp: without.has("otp") ? "" : complete.totp,
    links: without.has("links") ? [] : resolveLinks(complete, options),
    groups: without.has("groups") ? [] : complete.groups,
    roles: without.has("roles") ? [] : complete.roles,
    metadata: without.has("metadata") ? {} : complete.metadata,
  }
}

const emailFrom = (userName: string) =>
  userName.includes("@") ? { value: userName, verified: false } : undefined

/** Both names are required. A single name is used for both, with the display name of the source. */
function completeNames({ givenName, familyName, displayName, userName }: TransferUser) {
  if (givenName !== "" && familyName !== "") return {}
  const fullName = displayName || givenName || familyName || userName
  const nameParts = fullName.trim().split(/\s+/)
  const [first = fullName, last = fullName] = [
    nameParts.slice(0, -1).join(" ") || nameParts[0],
    nameParts.at(-1),
  ]
  return {
    givenName: givenName || first,
    familyName: familyName || last,
    displayName: fullName,
  }
}

/** The same user name always has the same ID, regardless of the file. */
const derivedId = (userName: string): string =>
  createHash("sha256").update(userName.normalize("NFKC").toLowerCase()).digest("hex").slice(0, 24)

const resolveLinks = (
  { links }: TransferUser,
  { providers }: ImportOptions,
): TransferUser["links"] =>
  links.flatMap((link) => {
    const provider = providers.get(link.provider) ?? link.provider
    return provider === "" ? [] : [{ ...link, provider }]
  })

/** Remedies for errors of the server, by the prefix of the error ID. */
const remedies: readonly (readonly [start: string, todo: string])[] = [
  ["user.password_hash", "to import the user anyway, use --without passwords"],
  ["user.totp", "to import the user anyway, use --without otp"],
  ["idp.", "name the identity provider with --idp NAME=ID, or use --without links"],
  ["project.", "create it first, or use --without roles"],
  ["user.metadata", "to import the user anyway, use --without metadata"],
  ["metadata.", "to import the user anyway, use --without metadata"],
]

function failureOf(
  { at }: FileEntry,
  { userName: name }: TransferUser,
  { id, message }: Extract<UserResult, { became: "refused" }>,
): FailedUser {
  const todo = remedies.find(([start]) => id.startsWith(start))?.[1]
  return { at, name, id, message: todo ? `${message}; ${todo}` : message }
}

/**
 * Only the first of two users with the same name is imported. The second is reported because it can
 * be a different person.
 */
const duplicateFailure = (
  { at }: FileEntry,
  { userName }: TransferUser,
  first = "",
): FailedUser => ({
  at,
  name: userName,
  id: "people.twice",
  message:
    `${first} has the same ID, or the same user name except for case, and was imported; ` +
    "change the name of this one or remove it",
})

const nameFields = [
  "userName",
  "username",
  "user name",
  "login",
  "name",
  "email",
  "profile",
  "fields",
]

/** The name of an entry that can't be parsed. */
function guessName(value: unknown): string {
  if (typeof value !== "object" || value === null) return ""
  const found = Object.entries(value)
    .filter(([name]) => nameFields.includes(name))
    .map(([, named]) => (typeof named === "string" ? named : guessName(named)))
  return found.find((each) => each !== "")?.slice(0, 100) ?? ""
}

const entryFault = (message: string) => new Fault("invalid_argument", "people.entry", message)

const lostError = (reason: string, part: Part) =>
  new Fault(
    "invalid_argument",
    "people.lost",
    `${reason}; to import the user anyway, use --without ${part}`,
  )
