import type { DataOrg } from "../../../gen/core/admin/v1/data_pb.ts"
import { OrgState } from "../../../gen/core/org/v1/org_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { givenId } from "../../../kernel/text/given.ts"
import type { Cx } from "../../../store/index.ts"
import { orgOidcOf, toOrgOidc } from "../../org/api.ts"
import {
  addDomain,
  addOrganization,
  changeOrganization,
  deactivateOrganization,
  hostOf,
  org,
  setPrimaryDomain,
  vouchDomain,
} from "../../org/index.ts"
import { strangersOn } from "../../user-lookup/index.ts"
import { readerOf } from "../../user-model/index.ts"
import { needs, one, row } from "./v1-row.ts"

/** Whether an organisation is to be stopped. */
export const isToStop = ({ orgState }: DataOrg): boolean => orgState === OrgState.INACTIVE

/** One that is to be stopped never runs here: whoever is in it is added to it as it is. */
export const orgRow = row({
  field: "org",
  needs: { read: "org.read", write: ["org.create"] },
  from: (data) => one(data.org && { name: data.org.name, isStopped: isToStop(data) }),
  *read(cx, orgId) {
    const { name, status } = cx.store.state(cx, org, orgId)
    const orgState = status === "inactive" ? OrgState.INACTIVE : OrgState.ACTIVE
    yield { org: { name }, orgState }
  },
  write: async (cx, orgId, { name, isStopped }) => {
    const id = givenId(cx.ids, "org_id", orgId)
    await cx.store.transact(cx, (tx) => {
      addOrganization(tx, id, { name })
      if (isStopped) deactivateOrganization.within(tx, id)
    })
  },
  idOf: ({ name }) => name,
  taken: () => ({ settings: ["org"] }),
})

/** The defaults of an organization's applications. */
export const oidcSettingsRow = row({
  field: "oidcSettings",
  needs: needs("org"),
  from: ({ oidcSettings }) => one(oidcSettings),
  *read(cx, orgId) {
    const { oidc } = cx.store.state(cx, org, orgId)
    if (oidc) yield { oidcSettings: toOrgOidc(oidc) }
  },
  write: async (cx, orgId, settings) => {
    await cx.store.transact(cx, (tx) => {
      if (tx.state(org, orgId).oidc) throw settingsExistError()
      changeOrganization.within(tx, orgId, { oidc: orgOidcOf(settings) })
    })
  },
  idOf: () => "oidc_settings",
  taken: () => ({ settings: ["oidc_settings"] }),
})

const settingsExistError = () =>
  new Fault(
    "already_exists",
    "transfer.exists",
    "the organization has defaults for its applications already",
  )

/** Each instance makes an organisation a domain of its own below its host: that one stays there. */
export const domainRow = row({
  field: "domains",
  needs: needs("org"),
  from: ({ domains }) => domains,
  *read(cx, orgId) {
    const { domains, primaryDomain } = cx.store.state(cx, org, orgId)
    const own = `.${hostOf({ ...readerOf(cx), instance: cx.instance })}`
    for (const [domainName, { verified }] of Object.entries(domains)) {
      if (domainName.endsWith(own)) continue
      const isPrimary = domainName === primaryDomain
      yield { domains: [{ orgId, domainName, isVerified: verified, isPrimary }] }
    }
  },
  write: (cx, orgId, domain) => takeDomain(cx, orgId, domain),
  idOf: ({ domainName }) => domainName,
  taken: ({ domainName }) => ({ domains: [domainName] }),
})

type Domain = {
  readonly domainName: string
  readonly isVerified: boolean
  readonly isPrimary: boolean
}

/** Who owns the instance vouches for what was proven elsewhere. */
async function takeDomain(cx: Cx, orgId: string, given: Domain): Promise<void> {
  const { domainName: domain, isVerified, isPrimary } = given
  const isUsed = (name: string) => strangersOn(cx, { domain: name, orgId, limit: 1 }).length > 0
  await cx.store.transact(cx, (tx) => {
    if (isVerified) vouchDomain.within(tx, orgId, { domain, isUsed })
    else addDomain.within(tx, orgId, { domain, isUsed })
    if (isPrimary && isVerified) setPrimaryDomain.within(tx, orgId, domain)
  })
}

/** Told with the organisation itself; where that came in a part before, it is stopped now. */
export const stateRow = row({
  field: "orgState",
  ofNew: true,
  needs: needs("org"),
  from: (data) => (isToStop(data) ? [data.orgState] : []),
  read: () => [],
  write: async (cx, orgId) => {
    await deactivateOrganization(cx, orgId)
  },
  idOf: () => "inactive",
  taken: () => ({ settings: ["org_state"] }),
})
