import type { DataOrg } from "../../../gen/core/admin/v1/data_pb.ts"
import { OrgState } from "../../../gen/core/org/v1/org_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import type { Cx } from "../../../store/index.ts"
import { parseOrgOidc, toOrgOidc } from "../../org/api.ts"
import {
  addDomain,
  addOrganization,
  addVouchedDomain,
  changeOrganization,
  deactivateOrganization,
  hostOf,
  org,
  setPrimaryDomain,
} from "../../org/index.ts"
import { listOthersOnDomain } from "../../user-lookup/index.ts"
import { createReader } from "../../user-model/index.ts"
import { itemKind, listOf, permissionsFor } from "./v1-item-kind.ts"

/** Whether the organization should be inactive. */
export const isInactive = ({ orgState }: DataOrg): boolean => orgState === OrgState.INACTIVE

/** An inactive organization is never active here; its resources are added in that state. */
export const orgRow = itemKind({
  field: "org",
  needs: { read: "org.read", write: ["org.create"] },
  from: (data) => listOf(data.org && { name: data.org.name, isStopped: isInactive(data) }),
  *read(cx, orgId) {
    const { name, status } = cx.store.state(cx, org, orgId)
    const orgState = status === "inactive" ? OrgState.INACTIVE : OrgState.ACTIVE
    yield { org: { name }, orgState }
  },
  write: async (cx, orgId, { name, isStopped }) => {
    const id = parseResourceId(cx.ids, "org_id", orgId)
    await cx.store.transact(cx, (tx) => {
      addOrganization(tx, id, { name })
      if (isStopped) deactivateOrganization.within(tx, id)
    })
  },
  idOf: ({ name }) => name,
  successOf: () => ({ settings: ["org"] }),
})

/** The defaults of an organization's applications. */
export const oidcSettingsRow = itemKind({
  field: "oidcSettings",
  needs: permissionsFor("org"),
  from: ({ oidcSettings }) => listOf(oidcSettings),
  *read(cx, orgId) {
    const { oidc } = cx.store.state(cx, org, orgId)
    if (oidc) yield { oidcSettings: toOrgOidc(oidc) }
  },
  write: async (cx, orgId, settings) => {
    await cx.store.transact(cx, (tx) => {
      if (tx.state(org, orgId).oidc) throw settingsExistError()
      changeOrganization.within(tx, orgId, { oidc: parseOrgOidc(settings) })
    })
  },
  idOf: () => "oidc_settings",
  successOf: () => ({ settings: ["oidc_settings"] }),
})

const settingsExistError = () =>
  new Fault(
    "already_exists",
    "transfer.exists",
    "the organization already has defaults for its applications",
  )

/** The generated domain below the host of the instance is not transferred. */
export const domainRow = itemKind({
  field: "domains",
  needs: permissionsFor("org"),
  from: ({ domains }) => domains,
  *read(cx, orgId) {
    const { domains, primaryDomain } = cx.store.state(cx, org, orgId)
    const own = `.${hostOf({ ...createReader(cx), instance: cx.instance })}`
    for (const [domainName, { verified }] of Object.entries(domains)) {
      if (domainName.endsWith(own)) continue
      const isPrimary = domainName === primaryDomain
      yield { domains: [{ orgId, domainName, isVerified: verified, isPrimary }] }
    }
  },
  write: (cx, orgId, domain) => importDomain(cx, orgId, domain),
  idOf: ({ domainName }) => domainName,
  successOf: ({ domainName }) => ({ domains: [domainName] }),
})

type Domain = {
  readonly domainName: string
  readonly isVerified: boolean
  readonly isPrimary: boolean
}

/** An owner of the instance can vouch for domains that were verified elsewhere. */
async function importDomain(cx: Cx, orgId: string, domainInput: Domain): Promise<void> {
  const { domainName: domain, isVerified, isPrimary } = domainInput
  const isUsed = (name: string) =>
    listOthersOnDomain(cx, { domain: name, orgId, limit: 1 }).length > 0
  await cx.store.transact(cx, (tx) => {
    if (isVerified) addVouchedDomain.within(tx, orgId, { domain, isUsed })
    else addDomain.within(tx, orgId, { domain, isUsed })
    if (isPrimary && isVerified) setPrimaryDomain.within(tx, orgId, domain)
  })
}

/** Imported with the organization; deactivates it if it was created by an earlier part. */
export const stateRow = itemKind({
  field: "orgState",
  onlyNewOrgs: true,
  needs: permissionsFor("org"),
  from: (data) => (isInactive(data) ? [data.orgState] : []),
  read: () => [],
  write: async (cx, orgId) => {
    await deactivateOrganization(cx, orgId)
  },
  idOf: () => "inactive",
  successOf: () => ({ settings: ["org_state"] }),
})
