// Fills a stopped server's database with organisations and people, past the API and as fast as the
// store takes it: `bun scripts/bench/population.ts DATABASE [USERS] [ORGANISATIONS]`.
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
import { idsOf } from "../../src/kernel/id.ts"
import type { Cx, Transaction } from "../../src/store/index.ts"
import { openDatabase } from "../../test/reliability/audit.ts"
import { nowhere } from "../../test/support/outside.ts"

/** So many people in one step: more would hold the database up, fewer cost a sync each. */
const batch = 500

/** The ids follow from the numbers, so that whoever measures knows whom to ask for. */
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
 * People are spread evenly; each organisation has a manager, a group and a project with a role and
 * an application, which is granted to the organisation before it.
 */
export async function populate(
  file: string,
  users: number,
  orgs: number,
  personOf: PersonOf = numberedPerson,
): Promise<void> {
  const store = openDatabase(file)
  const cx = fillingCx(store)
  const each = Math.ceil(users / orgs)
  for (let org = 0; org < orgs; org++) {
    const orgId = orgIdOf(org)
    await store.transact(cx, (tx) => addOrganization(tx, orgId, { name: `Organisation ${org}` }))
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
    if (first < end) await store.transact(cx, (tx) => furnish(tx, org, userIdOf(first)))
    await createGroup(cx, `group${org}`, { orgId, name: `Group ${org}`, description: "" })
  }
  await store.close()
}

function furnish(tx: Transaction, org: number, userId: string): void {
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

/** A context of the store alone, by which files are filled while no server runs. */
export const fillingCx = (store: Cx["store"]): Cx => ({
  store,
  clock: systemClock,
  ids: idsOf(systemClock, 1),
  random: systemRandom,
  secrets: noSecrets(),
  outside: nowhere,
  warn: () => {},
  instance: firstInstance,
  caller: { kind: "system", name: "population" },
  requestId: "population",
  languages: [],
})

/** Nobody here has a password or a secret. */
function noSecrets(): Secrets {
  const refuse = () => {
    throw new Error("the population has no secrets")
  }
  return { seal: refuse, open: refuse, hash: refuse, matches: refuse, signer: refuse }
}

if (import.meta.main) {
  const [file = "", users = "1000000", orgs = "1000"] = process.argv.slice(2)
  await populate(file, Number(users), Number(orgs))
}
