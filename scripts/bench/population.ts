// Fills the database of a stopped server with organizations and users, bypassing the API: `bun
// scripts/bench/population.ts DATABASE [USERS] [ORGANIZATIONS]`.
import { addApplication } from "../../src/domain/app/index.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { createGroup } from "../../src/domain/group/index.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { addOrganization } from "../../src/domain/org/index.ts"
import { addProject, addRoles } from "../../src/domain/project/index.ts"
import { addGrant } from "../../src/domain/project-grant/index.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { addUser, type NewHuman } from "../../src/domain/user/index.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import type { Secrets } from "../../src/kernel/crypto/secret.ts"
import { createIds } from "../../src/kernel/id.ts"
import type { Cx, Transaction } from "../../src/store/index.ts"
import { openDatabase } from "../../test/reliability/audit.ts"
import { unreachableOutside } from "../../test/support/outside.ts"

/** Users per transaction: more would take too long, fewer would cost an fsync each. */
const batch = 500

/** IDs are derived from numbers, so that benchmarks can request them. */
export const orgIdOf = (org: number): string => `org${org}`
export const userIdOf = (user: number): string => `user${user}`

type Person = Omit<NewHuman, "kind" | "orgId">
export type PersonOf = (count: number) => Person

const numberedPerson: PersonOf = (count) => ({
  userName: `person-${count}`,
  profile: { givenName: `Given${count % 997}`, familyName: `Family${count % 10_007}` },
  email: { value: `person-${count}@example.com`, verified: true },
})

/**
 * Distributes the users evenly. Each organization has a manager, a group and a project with a role
 * and an application, granted to the previous organization.
 */
export async function populate(
  file: string,
  users: number,
  orgs: number,
  personOf: PersonOf = numberedPerson,
): Promise<void> {
  const store = openDatabase(file)
  const cx = createStoreCx(store)
  const each = Math.ceil(users / orgs)
  for (let org = 0; org < orgs; org++) {
    const orgId = orgIdOf(org)
    await store.transact(cx, (tx) => addOrganization(tx, orgId, { name: `Organization ${org}` }))
    const first = org * each
    const end = Math.min(users, first + each)
    for (let from = first; from < end; from += batch) {
      const to = Math.min(end, from + batch)
      await store.transact(cx, (tx) => {
        for (let count = from; count < to; count++) {
          addUser(tx, userIdOf(count), { kind: "human", orgId, ...personOf(count) })
        }
      })
    }
    if (first < end)
      await store.transact(cx, (tx) => addOrganizationContents(tx, org, userIdOf(first)))
    await createGroup(cx, `group${org}`, { orgId, name: `Group ${org}`, description: "" })
  }
  await store.close()
}

function addOrganizationContents(tx: Transaction, org: number, userId: string): void {
  const orgId = orgIdOf(org)
  const projectId = `project${org}`
  addMember(tx, { target: { level: "org", id: orgId }, userId, roles: ["ORG_OWNER"] })
  addProject(tx, projectId, { orgId, name: `Project ${org}` })
  addRoles.within(tx, projectId, [{ key: `role-${org}`, displayName: `Role ${org}` }])
  addApplication(tx, `app${org}`, {
    projectId,
    name: `Application ${org}`,
    clientId: `client${org}`,
    config: { kind: "oidc", oidc: { appType: "user_agent", authMethod: "none" } },
  })
  const roleKeys = [`role-${org}`]
  addAuthorization(tx, `authorization${org}`, { projectId, orgId, userId, roleKeys })
  if (org === 0) return
  addGrant(tx, `grant${org}`, { projectId, grantedOrgId: orgIdOf(org - 1), roleKeys })
}

/** A call context for filling a store without a server. */
export const createStoreCx = (store: Cx["store"]): Cx => ({
  store,
  clock: systemClock,
  ids: createIds(systemClock, 1),
  random: systemRandom,
  secrets: createNoSecrets(),
  outside: unreachableOutside,
  warn: () => {},
  instance: firstInstance,
  caller: { kind: "system", name: "population" },
  requestId: "population",
  languages: [],
})

/** No user of the population has a password or secret. */
function createNoSecrets(): Secrets {
  const throwNoSecrets = () => {
    throw new Error("the population has no secrets")
  }
  return {
    seal: throwNoSecrets,
    open: throwNoSecrets,
    hash: throwNoSecrets,
    matches: throwNoSecrets,
    signer: throwNoSecrets,
  }
}

if (import.meta.main) {
  const [file = "", users = "1000000", orgs = "1000"] = process.argv.slice(2)
  await populate(file, Number(users), Number(orgs))
}
