import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import {
  type Domain,
  DomainFieldName,
  DomainValidationType,
} from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActionButton, DialogOpener, defineForm, verbatim } from "../form/index.ts"
import { Collection, paginationOf, toPage } from "../list/index.ts"
import { call, t } from "../shell/index.ts"
import { DomainValidation } from "./domain-validation.tsx"

const { listOrganizationDomains, addOrganizationDomain } = OrganizationService.method
const { verifyOrganizationDomain, deleteOrganizationDomain } = OrganizationService.method

/** Domains in the login names of an organization's users. */
export function Domains({ organizationId }: { readonly organizationId: string }) {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  return (
    <Collection
      family="domains"
      method={listOrganizationDomains}
      toRequest={(query) => {
        const filter = { case: "domainFilter", value: { domain: query.text, method } } as const
        return {
          organizationId,
          pagination: paginationOf(query),
          sortingColumn: DomainFieldName.NAME,
          filters: query.text ? [{ filter }] : [],
        }
      }}
      find={({ domains, pagination }) => toPage(domains, pagination)}
      columns={[
        { label: t("domains.domain"), cell: ({ domain }) => <bdi>{domain}</bdi> },
        { label: t("field.state"), cell: (row) => <DomainState domain={row} /> },
      ]}
      keyOf={({ domain }) => domain}
      nameOf={({ domain }) => domain}
      form={() => domainForm(organizationId)}
      needs={{ create: addOrganizationDomain, remove: deleteOrganizationDomain }}
      isFixed={({ isPrimary }) => isPrimary}
      more={(domain) => <DomainActions domain={domain} />}
      remove={({ domain }) => call(deleteOrganizationDomain, { organizationId, domain })}
    />
  )
}

type DomainProps = { readonly domain: Domain }

function DomainState({ domain }: DomainProps) {
  return (
    <span className="badges">
      {domain.isPrimary && <Badge>{t("domains.is_primary")}</Badge>}
      <Badge tone={domain.isVerified ? "done" : "warning"}>
        {t(domain.isVerified ? "users.verified" : "users.not_verified")}
      </Badge>
    </span>
  )
}

/** The next action: get the proof, check it, or make the domain primary. */
function DomainActions({ domain: organizationDomain }: DomainProps) {
  const { organizationId, domain, isVerified, validationType } = organizationDomain
  const makePrimary = () =>
    call(ManagementService.method.setPrimaryOrgDomain, { domain }, { within: organizationId })
  if (isVerified)
    return (
      <ActionButton
        small
        needs={ManagementService.method.setPrimaryOrgDomain}
        label={t("domains.make_primary")}
        act={makePrimary}
      />
    )
  return (
    <>
      {validationType !== DomainValidationType.UNSPECIFIED && (
        <ActionButton
          small
          needs={verifyOrganizationDomain}
          label={t("domains.check")}
          act={() => call(verifyOrganizationDomain, { organizationId, domain })}
        />
      )}
      <DialogOpener
        needs={OrganizationService.method.generateOrganizationDomainValidation}
        label={t("domains.prove")}
        title={t("domains.prove_title", { domain })}
      >
        {(close) => <DomainValidation domain={organizationDomain} close={close} />}
      </DialogOpener>
    </>
  )
}

const domainForm = (organizationId: string) =>
  defineForm({
    initial: { domain: "" },
    refusals: { domain: ["org.domain"] },
    save: ({ domain }) => call(addOrganizationDomain, { organizationId, domain: domain.trim() }),
    fields: ({ text }) =>
      text("domain", t("domains.domain"), {
        hint: t("domains.hint"),
        placeholder: "example.com",
        ...verbatim,
        required: true,
      }),
  })
