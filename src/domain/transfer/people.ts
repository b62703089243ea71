import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { ownRolesHeld } from "../authorization/index.ts"
import { totpSecret } from "../factor/index.ts"
import { ensureGroup, groupsOfUser } from "../group/index.ts"
import { heldMetadata } from "../user/index.ts"
import { hasLeft, linksOf, user } from "../user-model/index.ts"
import { isOurs } from "./fault.ts"
import { idsIn } from "./list.ts"
import type { Carried } from "./model.ts"
import { type Home, type Newcomer, takePerson, textOf } from "./person.ts"

/** What became of somebody who was to be taken over. */
type Outcome =
  | { readonly became: "taken" | "there" }
  | { readonly became: "refused"; readonly id: string; readonly message: string }

/** How many people are written at once: they share what it costs to have them on disk. */
const lanes = 8

/** Takes people over, each a step of their own; the outcomes are in the order of the people. */
export async function takePeople(
  cx: Cx,
  home: Home,
  people: readonly Newcomer[],
): Promise<readonly Outcome[]> {
  const within = { ...cx, orgId: home.orgId }
  const faults = await makeGroups(within, home.orgId, people)
  const outcomes: Outcome[] = []
  const queue = people.entries()
  const run = async () => {
    for (const [at, person] of queue) {
      const fault = person.groups.map((name) => faults.get(name)).find(Boolean)
      outcomes[at] = fault ? refusal(fault) : await takeOne(within, home, person)
    }
  }
  await Promise.all(Array.from({ length: lanes }, run))
  return outcomes
}

/** One after the other, before anybody is to be in them; answers which can't be made, and why. */
async function makeGroups(
  cx: Cx,
  orgId: string,
  people: readonly Newcomer[],
): Promise<ReadonlyMap<string, Fault>> {
  const faults = new Map<string, Fault>()
  for (const name of new Set(people.flatMap(({ groups }) => groups))) {
    const fault = await tried(() => ensureGroup(cx, orgId, name))
    if (fault instanceof Fault) faults.set(name, fault)
  }
  return faults
}

async function takeOne(cx: Cx, home: Home, person: Newcomer): Promise<Outcome> {
  const became = await tried(() => takePerson(cx, home, person))
  return became instanceof Fault ? refusal(became) : { became }
}

/** What is done, or why it can't be; what is the server's own fault stops all of it. */
async function tried<T>(act: () => Promise<T>): Promise<T | Fault> {
  try {
    return await act()
  } catch (cause) {
    if (cause instanceof Fault && !isOurs(cause)) return cause
    throw cause
  }
}

const refusal = ({ id, message }: Fault): Outcome => ({ became: "refused", id, message })

/** The people of an organisation, oldest first, with what they sign in with where it is wanted. */
export async function* peopleOf(cx: Cx, home: Home, carried: Carried): AsyncGenerator<Newcomer> {
  for await (const id of idsIn(cx, "people", home.orgId)) {
    const told = shown(cx, id, { home, carried })
    if (told) yield told
  }
}

type Asked = { readonly home: Home; readonly carried: Carried }

function shown(cx: Cx, id: string, { home, carried }: Asked): Newcomer | undefined {
  const state = cx.store.state(cx, user, id)
  if (hasLeft(state) || state.kind !== "human") return undefined
  const { userName, profile, email, phone, password, status } = state
  const { preferredLanguage: language, ...names } = profile
  return {
    id,
    userName,
    ...names,
    language,
    email: { value: email.address, verified: email.verified },
    ...(phone && { phone: { value: phone.number, verified: phone.verified } }),
    hash: carried.withPasswords ? (password?.hash ?? "") : "",
    changePassword: carried.withPasswords && (password?.changeRequired ?? false),
    totp: carried.withOtp ? (totpSecret(cx, id) ?? "") : "",
    state: status,
    links: linksOf(state).map(({ idpId: provider, externalId, name }) => ({
      provider,
      externalId,
      name,
    })),
    groups: groupsOfUser(cx, id),
    roles: rolesOf(cx, id, home),
    metadata: Object.fromEntries(
      [...heldMetadata(cx, id)].map(([key, value]) => [key, textOf(value)]),
    ),
  }
}

/** The roles that the organisation gives them on the project that is asked about. */
const rolesOf = (cx: Cx, id: string, { orgId, projectId }: Home): readonly string[] =>
  projectId === undefined
    ? []
    : ownRolesHeld(cx, id, projectId)
        .filter((held) => held.orgId === orgId)
        .flatMap(({ keys }) => keys)
