import { useParams } from "@tanstack/react-router"
import { type Organization, OrganizationState } from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { Alert, Button } from "../../kit/index.ts"
import { Administrators } from "../administrator/administrators.tsx"
import { ActivationButton, DeleteSection, renameRow } from "../form/index.ts"
import { dateRows, History, Metadata, StateBadge } from "../list/index.ts"
import {
  call,
  copyableFact,
  FactsSection,
  Link,
  Page,
  Section,
  t,
  useCanReadInstance,
  useOrganization,
  useRead,
  useSelectOrganization,
} from "../shell/index.ts"
import { ApplicationDefaults } from "./application-defaults.tsx"
import { Domains } from "./domains.tsx"
import { SignUpLinks } from "./sign-up-links.tsx"

const { listOrganizations, updateOrganization, deleteOrganization } = OrganizationService.method
const { activateOrganization, deactivateOrganization } = OrganizationService.method
const { listOrganizationMetadata, setOrganizationMetadata, deleteOrganizationMetadata } =
  OrganizationService.method

export function OrganizationPage() {
  const { organizationId } = useParams({ from: "/organizations/$organizationId" })
  const query = { case: "idQuery", value: { id: organizationId } } as const
  const { result } = useRead(listOrganizations, { queries: [{ query }] })
  const seesInstance = useCanReadInstance()
  const [organization] = result
  const list = { label: t("nav.organizations"), link: { to: "/organizations" } } as const
  const crumbs = seesInstance ? [list] : []
  if (!organization) {
    return (
      <Page title={t("detail.failed")} crumbs={crumbs}>
        <Alert tone="warning">{t("organizations.none")}</Alert>
      </Page>
    )
  }
  return (
    <Page
      title={organization.name}
      crumbs={crumbs}
      badge={<StateBadge isOn={isActive(organization)} />}
      actions={<ActivationActions organization={organization} />}
      scope={{ organizationId }}
    >
      <OrganizationDetails organization={organization} />
      <PolicyLinks organization={organization} />
      <ApplicationDefaults organization={organization} />
      <Domains organizationId={organizationId} />
      <SignUpLinks organizationId={organizationId} />
      <Administrators of={{ case: "organizationId", value: organizationId }} />
      <Metadata
        method={listOrganizationMetadata}
        toRequest={(listQuery) => ({ ...listQuery, organizationId })}
        find={(answer) => answer}
        needs={{ set: setOrganizationMetadata, remove: deleteOrganizationMetadata }}
        set={(metadata) => call(setOrganizationMetadata, { organizationId, metadata })}
        remove={(keys) => call(deleteOrganizationMetadata, { organizationId, keys })}
      />
      <History of={{ case: "organizationId", value: organizationId }} />
      <DeleteSection
        family="organizations"
        name={organization.name}
        by={deleteOrganization}
        of={{ organizationId }}
        to={{ to: "/organizations", search: { org: undefined } }}
      />
    </Page>
  )
}

const isActive = ({ state }: Organization) => state !== OrganizationState.INACTIVE

type OrganizationProps = { readonly organization: Organization }

function ActivationActions({ organization }: OrganizationProps) {
  const chosen = useOrganization()
  const choose = useSelectOrganization()
  const { id: organizationId, name } = organization
  return (
    <>
      {chosen.id !== organizationId && (
        <Button onClick={() => choose(organizationId)}>{t("organizations.choose")}</Button>
      )}
      <ActivationButton
        on={activateOrganization}
        off={deactivateOrganization}
        of={{ organizationId }}
        subject={name}
        isOn={isActive(organization)}
        consequence={t("organizations.deactivate_text")}
      />
    </>
  )
}

function OrganizationDetails({ organization }: OrganizationProps) {
  const { id: organizationId, name, primaryDomain, details } = organization
  return (
    <FactsSection
      title={t("detail.about")}
      rows={[
        renameRow(t("field.name"), name, updateOrganization, (to) =>
          call(updateOrganization, { organizationId, name: to }),
        ),
        [t("domains.primary"), <bdi key="domain">{primaryDomain}</bdi>],
        copyableFact(t("organizations.id"), organizationId),
        ...dateRows(details),
      ]}
    />
  )
}

function PolicyLinks({ organization }: OrganizationProps) {
  const { id: organizationId } = organization
  return (
    <Section title={t("policies.title")}>
      <p className="quiet section-lead">{t("policies.lead_organization")}</p>
      <div className="row">
        <Link to="/organizations/$organizationId/policies" params={{ organizationId }}>
          {t("policies.open")}
        </Link>
        <Link to="/organizations/$organizationId/texts" params={{ organizationId }}>
          {t("texts.open")}
        </Link>
        <Link to="/organizations/$organizationId/identity-providers" params={{ organizationId }}>
          {t("nav.identity-providers")}
        </Link>
      </div>
    </Section>
  )
}
