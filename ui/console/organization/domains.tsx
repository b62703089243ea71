import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import {
  type Domain,
  DomainFieldName,
  DomainValidationType,
} from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ActionButton, DialogOpener, formOf, verbatim } from "../form/index.ts"
import { Collection, found, pageOf } from "../list/index.ts"
import { call, t } from "../shell/index.ts"
import { DomainValidation } from "./domain-validation.tsx"

const { listOrganizationDomains, addOrganizationDomain } = OrganizationService.method
const { verifyOrganizationDomain, deleteOrganizationDomain } = OrganizationService.method

/** The domains that login names of an organisation's people end in. */
export function Domains({ organizationId }: { readonly organizationId: string }) {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  return (
    <Collection
      family="domains"
      method={listOrganizationDomains}
      ask={(asked) => {
        const filter = { case: "domainFilter", value: { domain: asked.text, method } } as const
        return {
          organizationId,
          pagination: pageOf(asked),
          sortingColumn: DomainFieldName.NAME,
          filters: asked.text ? [{ filter }] : [],
        }
      }}
      find={({ domains, pagination }) => found(domains, pagination)}
      columns={[
        { label: t("domains.domain"), cell: ({ domain }) => <bdi>{domain}</bdi> },
        { label: t("field.state"), cell: (row) => <State domain={row} /> },
      ]}
      keyOf={({ domain }) => domain}
      nameOf={({ domain }) => domain}
      form={() => domainForm(organizationId)}
      needs={{ create: addOrganizationDomain, remove: deleteOrganizationDomain }}
      isFixed={({ isPrimary }) => isPrimary}
      more={(domain) => <Steps domain={domain} />}
      remove={({ domain }) => call(deleteOrganizationDomain, { organizationId, domain })}
    />
  )
}

type DomainProps = { readonly domain: Domain }

function State({ domain }: DomainProps) {
  return (
    <span className="badges">
      {domain.isPrimary && <Badge>{t("domains.is_primary")}</Badge>}
      <Badge tone={domain.isVerified ? "done" : "warning"}>
        {t(domain.isVerified ? "users.verified" : "users.not_verified")}
      </Badge>
    </span>
  )
}

/** What can be done next: prove it, look whether the proof is there, then make it the first. */
function Steps({ domain: held }: DomainProps) {
  const { organizationId, domain, isVerified, validationType } = held
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
        {(close) => <DomainValidation domain={held} close={close} />}
      </DialogOpener>
    </>
  )
}

const domainForm = (organizationId: string) =>
  formOf({
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
