import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { listOwnRolesByOrg } from "../authorization/index.ts"
import { totpSecret } from "../factor/index.ts"
import { ensureGroup, groupNamesOfUser } from "../group/index.ts"
import { listMetadata } from "../user/index.ts"
import { isAbsent, linksOf, user } from "../user-model/index.ts"
import { isServerFault } from "./fault.ts"
import { idsIn } from "./list.ts"
import type { IncludedSecrets } from "./model.ts"
import { formatMetadata, type ImportScope, importOneUser, type UserToImport } from "./user.ts"

/** The result for one user of an import. */
type UserImportOutcome =
  | { readonly became: "taken" | "there" }
  | { readonly became: "refused"; readonly id: string; readonly message: string }

/** The number of users written concurrently, which share the cost of disk syncs. */
const concurrentUsers = 8

/** Imports users, each in its own step; the results are in the order of the users. */
export async function importUsers(
  cx: Cx,
  home: ImportScope,
  people: readonly UserToImport[],
): Promise<readonly UserImportOutcome[]> {
  const within = { ...cx, orgId: home.orgId }
  const faults = await createGroups(within, home.orgId, people)
  const outcomes: UserImportOutcome[] = []
  const queue = people.entries()
  const run = async () => {
    for (const [at, person] of queue) {
      const fault = person.groups.map((name) => faults.get(name)).find(Boolean)
      outcomes[at] = fault ? failedOutcome(fault) : await importUser(within, home, person)
    }
  }
  await Promise.all(Array.from({ length: concurrentUsers }, run))
  return outcomes
}

/**
 * Creates the groups one after another before their users; returns the groups that can't be
 * created, with the reason.
 */
async function createGroups(
  cx: Cx,
  orgId: string,
  people: readonly UserToImport[],
): Promise<ReadonlyMap<string, Fault>> {
  const faults = new Map<string, Fault>()
  for (const name of new Set(people.flatMap(({ groups }) => groups))) {
    const fault = await tryImport(() => ensureGroup(cx, orgId, name))
    if (fault instanceof Fault) faults.set(name, fault)
  }
  return faults
}

async function importUser(
  cx: Cx,
  home: ImportScope,
  person: UserToImport,
): Promise<UserImportOutcome> {
  const became = await tryImport(() => importOneUser(cx, home, person))
  return became instanceof Fault ? failedOutcome(became) : { became }
}

/** The result, or the fault if the input caused it; server errors stop the import. */
async function tryImport<T>(act: () => Promise<T>): Promise<T | Fault> {
  try {
    return await act()
  } catch (cause) {
    if (cause instanceof Fault && !isServerFault(cause)) return cause
    throw cause
  }
}

const failedOutcome = ({ id, message }: Fault): UserImportOutcome => ({
  became: "refused",
  id,
  message,
})

/** The users of an organization, oldest first, with the requested credentials. */
export async function* exportUsers(
  cx: Cx,
  home: ImportScope,
  carried: IncludedSecrets,
): AsyncGenerator<UserToImport> {
  for await (const id of idsIn(cx, "people", home.orgId)) {
    const exportedUser = toTransferUser(cx, id, { home, carried })
    if (exportedUser) yield exportedUser
  }
}

type ExportInput = { readonly home: ImportScope; readonly carried: IncludedSecrets }

function toTransferUser(
  cx: Cx,
  id: string,
  { home, carried }: ExportInput,
): UserToImport | undefined {
  const state = cx.store.state(cx, user, id)
  if (isAbsent(state) || state.kind !== "human") return undefined
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
    groups: groupNamesOfUser(cx, id),
    roles: rolesOf(cx, id, home),
    metadata: Object.fromEntries(
      [...listMetadata(cx, id)].map(([key, value]) => [key, formatMetadata(value)]),
    ),
  }
}

/** The user's roles on the requested project, given by the organization. */
const rolesOf = (cx: Cx, id: string, { orgId, projectId }: ImportScope): readonly string[] =>
  projectId === undefined
    ? []
    : listOwnRolesByOrg(cx, id, projectId)
        .filter((stored) => stored.orgId === orgId)
        .flatMap(({ keys }) => keys)
