import { share } from "../../api/method.ts"
import {
  DomainFieldName,
  type DomainSearchFilter,
  DomainValidationType,
} from "../../gen/core/org/v2/org_pb.ts"
import {
  type GenerateOrganizationDomainValidationRequest,
  type ListOrganizationDomainsRequest,
  OrganizationService,
} from "../../gen/core/org/v2/organization_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, filterMissingError, meaning, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { challengeDomain, domainOf, removeDomain } from "./domain.ts"
import { domainIn, org, type ProofType } from "./model.ts"
import { placeOf } from "./proof.ts"
import { type DomainRow, orgDomains } from "./view.ts"

/** Domains; those that users of others may have in their names are in the module above. */
export const v2domain = share<Cx>()(OrganizationService, {
  listOrganizationDomains: (req, cx) => list(cx, req),
  deleteOrganizationDomain: ({ organizationId, domain }, cx) => remove(cx, organizationId, domain),
  generateOrganizationDomainValidation: (req, cx) => challenge(cx, req),
})

async function remove(cx: Cx, orgId: string, domain: string) {
  const before = domainIn(cx.store.state(cx, org, orgId), domainOf(domain))
  const { changed } = await removeDomain(cx, orgId, domain)
  return before ? { deletionDate: at(changed) } : {}
}

async function challenge(cx: Cx, req: GenerateOrganizationDomainValidationRequest) {
  const { organizationId, domain } = req
  const type = meaning(proofs, req.type)
  const made = await challengeDomain(cx, organizationId, { domain, type })
  return { token: made.token, url: placeOf(made.domain, { type, token: made.token }) }
}

const proofs: Readonly<Record<number, ProofType>> = {
  [DomainValidationType.HTTP]: "http",
  [DomainValidationType.DNS]: "dns",
}

/** All of one organisation, which the access rule has let the caller look at. */
async function list(cx: Cx, req: ListOrganizationDomainsRequest) {
  const scope = { all: true, orgs: [], projects: [], grants: [] }
  const found = await search<DomainRow>({ ...cx, scope }, orgDomains, {
    page: pageOf(req.pagination),
    sort: meaning(columns, req.sortingColumn),
    filters: [{ equals: "org", value: req.organizationId }, ...req.filters.map(filterOf)],
  })
  return { pagination: pagination(found), domains: found.rows.map(toDomain) }
}

const columns = {
  [DomainFieldName.UNSPECIFIED]: "domain",
  [DomainFieldName.NAME]: "domain",
  [DomainFieldName.CREATION_DATE]: "created",
} as const

/** Domain names are compared without case (RFC 4343), whatever the method says. */
function filterOf({ filter }: DomainSearchFilter): Filter {
  if (filter.case === undefined) throw filterMissingError()
  return textFilter("domain", filter.value.domain, filter.value.method | 1)
}

const toDomain = (row: DomainRow) => ({
  organizationId: row.org,
  domain: row.domain,
  isVerified: row.verified,
  isPrimary: row.is_primary,
  validationType: validations[row.validation],
})

const validations = {
  "": DomainValidationType.UNSPECIFIED,
  http: DomainValidationType.HTTP,
  dns: DomainValidationType.DNS,
} as const
