import { createHash } from "node:crypto"
import { Fault } from "../../kernel/fault.ts"
import type { Part } from "./names.ts"
import type { PeopleCarrier, PersonOutcome, TakeAsked } from "./part.ts"
import { type Entry, type Person, person, type Read, type Source } from "./person.ts"
import { entryMax } from "./source/text.ts"

/** What could not be taken over: where it stands, who it is as far as that is known, and why. */
type RefusedPerson = {
  readonly at: string
  readonly name: string
  readonly id: string
  readonly message: string
}

export type TakenPeople = {
  readonly taken: number
  /** Who was there already, and stays as they are. */
  readonly there: number
  /** Entries that are no people: service accounts, and other rows of the same file. */
  readonly passed: number
  readonly refused: readonly RefusedPerson[]
}

export type How = Pick<TakeAsked, "instance" | "orgId" | "projectId" | "dryRun"> & {
  readonly without: ReadonlySet<Part>
  /** Ids of identity providers here by what the source calls them; "" leaves such links out. */
  readonly providers: ReadonlyMap<string, string>
  /** Whether addresses count as verified that the source says nothing of. */
  readonly trustsEmails: boolean
}

/** As much as one part has: few enough that others are answered soon after. */
const most = { people: 50, letters: 100_000 } as const

type Waiting = { readonly entry: Entry; readonly given: Person }

/**
 * Reads a source from one end to the other, and then hands over whom it has, part by part: a file
 * that breaks in its midst changes nothing.
 */
export async function takePeople(
  carrier: PeopleCarrier,
  source: Source,
  how: How,
): Promise<TakenPeople> {
  for await (const _ of source.entries());
  const refused: RefusedPerson[] = []
  const counts = { taken: 0, there: 0, passed: 0 }
  let [session, waiting, letters]: [string | undefined, Waiting[], number] = [undefined, [], 0]
  const { without: _w, providers: _p, trustsEmails: _t, ...asked } = how
  const send = async (isLast: boolean) => {
    const people = waiting.map(({ given }) => given)
    const known = session === undefined ? {} : { session }
    const part = await carrier.takePeople({ ...asked, ...known, people, isLast })
    session = part.session
    for (const [at, outcome] of part.outcomes.entries()) {
      const who = waiting[at]
      if (outcome.became !== "refused") counts[outcome.became]++
      else if (who) refused.push(refusalOf(who.entry, who.given, outcome))
    }
    ;[waiting, letters] = [[], 0]
  }
  // By id, where each stands first.
  const seen = new Map<string, string>()
  for await (const entry of source.entries()) {
    const given = readEntry(source, entry, how)
    if (given === undefined) counts.passed++
    else if ("message" in given) refused.push(given)
    else if (seen.has(given.id)) refused.push(twinOf(entry, given, seen.get(given.id)))
    else {
      seen.set(given.id, entry.at)
      waiting.push({ entry, given })
      letters += sizeOf(given)
      if (waiting.length >= most.people || letters > most.letters) await send(false)
    }
  }
  await send(true)
  return { ...counts, refused }
}

function readEntry(
  source: Source,
  { at, value, wrong }: Entry,
  how: How,
): Person | RefusedPerson | undefined {
  try {
    if (wrong !== undefined) throw entryFault(wrong)
    const read = source.read(value)
    const whole = read && completed(read, how)
    if (whole && sizeOf(whole) > entryMax) throw entryFault("this is more than a person may have")
    return whole
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return { at, name: nameIn(value), id: cause.id, message: cause.message }
  }
}

const sizeOf = (given: Person): number => JSON.stringify(given).length

/** What the flags leave out is left out; what is derived is derived; what is lost is refused. */
function completed({ lost = [], ...given }: Read, how: How): Person {
  const { without, trustsEmails } = how
  const missing = lost.find(({ part }) => !without.has(part))
  if (missing) throw lostError(missing.why, missing.part)
  const parsed = person.safeParse(given)
  if (!parsed.success) throw entryFault("something of this person is of another kind")
  const whole = parsed.data
  const email = whole.email ?? addressIn(whole.userName)
  if (whole.userName === "") throw entryFault("there is neither a user name nor an address")
  if (!email) throw entryFault("there is no e-mail address; give each person one")
  if (whole.roles.length > 0 && how.projectId === undefined && !without.has("roles")) {
    const why = `these are roles of no project (${whole.roles.join(", ")}): name it with --project`
    throw lostError(why, "roles")
  }
  return {
    ...whole,
    ...namesOf(whole),
    id: whole.id || derivedId(whole.userName),
    email: { ...email, verified: email.verified || trustsEmails },
    hash: without.has("passwords") ? "" : whole.hash,
    totp: without.has("otp") ? "" : whole.totp,
    links: without.has("links") ? [] : linksOf(whole, how),
    groups: without.has("groups") ? [] : whole.groups,
    roles: without.has("roles") ? [] : whole.roles,
    metadata: without.has("metadata") ? {} : whole.metadata,
  }
}

const addressIn = (userName: string) =>
  userName.includes("@") ? { value: userName, verified: false } : undefined

/** Both names are wanted; whoever has one alone is called by it, and shown as the source says. */
function namesOf({ givenName, familyName, displayName, userName }: Person) {
  if (givenName !== "" && familyName !== "") return {}
  const shown = displayName || givenName || familyName || userName
  const words = shown.trim().split(/\s+/)
  const [first = shown, last = shown] = [words.slice(0, -1).join(" ") || words[0], words.at(-1)]
  return {
    givenName: givenName || first,
    familyName: familyName || last,
    displayName: shown,
  }
}

/** The same for the same name each time, whichever file it comes from. */
const derivedId = (userName: string): string =>
  createHash("sha256").update(userName.normalize("NFKC").toLowerCase()).digest("hex").slice(0, 24)

const linksOf = ({ links }: Person, { providers }: How): Person["links"] =>
  links.flatMap((link) => {
    const provider = providers.get(link.provider) ?? link.provider
    return provider === "" ? [] : [{ ...link, provider }]
  })

/** What can be done about what a server refuses, by how the ids of its faults begin. */
const remedies: readonly (readonly [start: string, todo: string])[] = [
  ["user.password_hash", "or run it again with --without passwords, and invite them"],
  ["user.totp", "or run it again with --without otp"],
  ["idp.", "name the provider here with --idp NAME=ID, or run it again with --without links"],
  ["project.", "make it first, or run it again with --without roles"],
  ["user.metadata", "or run it again with --without metadata"],
  ["metadata.", "or run it again with --without metadata"],
]

function refusalOf(
  { at }: Entry,
  { userName: name }: Person,
  { id, message }: Extract<PersonOutcome, { became: "refused" }>,
): RefusedPerson {
  const todo = remedies.find(([start]) => id.startsWith(start))?.[1]
  return { at, name, id, message: todo ? `${message}; ${todo}` : message }
}

/** Who stands twice is taken once; that is said, for the other may be somebody else. */
const twinOf = ({ at }: Entry, { userName }: Person, first = ""): RefusedPerson => ({
  at,
  name: userName,
  id: "people.twice",
  message:
    `${first} has the same id, or the same user name but for capital letters, and was taken; ` +
    "give this one another name, or remove it",
})

const names = ["userName", "username", "user name", "login", "name", "email", "profile", "fields"]

/** What an entry that can't be read calls itself. */
function nameIn(value: unknown): string {
  if (typeof value !== "object" || value === null) return ""
  const found = Object.entries(value)
    .filter(([name]) => names.includes(name))
    .map(([, named]) => (typeof named === "string" ? named : nameIn(named)))
  return found.find((each) => each !== "")?.slice(0, 100) ?? ""
}

const entryFault = (message: string) => new Fault("invalid_argument", "people.entry", message)

const lostError = (why: string, part: Part) =>
  new Fault("invalid_argument", "people.lost", `${why}; or run it again with --without ${part}`)
