import { type Organization, OrganizationState } from "../../../src/gen/core/org/v2/org_pb.ts"
import { Administrators } from "../administrators.tsx"
import { ActionButton, DeleteButton } from "../confirm.tsx"
import { within } from "../core.ts"
import { Copyable, Detail, Section } from "../detail.tsx"
import { History } from "../history.tsx"
import { useHouse } from "../house.ts"
import { type Changed, useJoined, useLoad, useReadings } from "../load.ts"
import { Metadata } from "../metadata.tsx"
import { Domains } from "../organization/domains.tsx"
import { PageFrame } from "../page-frame.tsx"
import { Rename } from "../rename.tsx"
import { go } from "../route.ts"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"

export function OrganizationPage({ organizationId }: { readonly organizationId: string }) {
  const { t, core, seesInstance } = useHouse()
  const crumbs = seesInstance
    ? [{ label: t("nav.organizations"), to: { page: "organizations" } as const }]
    : []
  const loaded = useLoad(`organization ${organizationId}`, "", async (signal) => {
    const query = { case: "idQuery", value: { id: organizationId } } as const
    const { result } = await core.organizations.listOrganizations(
      { queries: [{ query }] },
      { signal },
    )
    const [found] = result
    if (!found) throw new Error(t("organizations.none"))
    return found
  })
  const readings = useReadings()
  useJoined(readings, loaded.reload)
  const part = { organizationId, readings }
  return (
    <Detail loaded={loaded} crumbs={crumbs}>
      {(organization) => (
        <PageFrame
          title={organization.name}
          crumbs={crumbs}
          badge={<StateBadge state={isActive(organization) ? "active" : "inactive"} />}
          actions={<Turns organization={organization} onChanged={readings.reload} />}
        >
          <Facts organization={organization} onChanged={readings.reload} />
          <Domains {...part} />
          <Administrators of={{ case: "organizationId", value: organizationId }} {...part} />
          <Metadata
            about={`organization ${organizationId}`}
            readings={readings}
            read={(asked, options) =>
              core.organizations.listOrganizationMetadata({ ...asked, organizationId }, options)
            }
            set={(metadata) =>
              core.organizations.setOrganizationMetadata({ organizationId, metadata })
            }
            remove={(keys) =>
              core.organizations.deleteOrganizationMetadata({ organizationId, keys })
            }
          />
          <History
            about={`organization ${organizationId}`}
            readings={readings}
            read={(asked, options) =>
              core.management.listOrgChanges(asked, { ...options, ...within(organizationId) })
            }
          />
          <Remove organization={organization} />
        </PageFrame>
      )}
    </Detail>
  )
}

const isActive = ({ state }: Organization) => state !== OrganizationState.INACTIVE

type Part = { readonly organization: Organization; readonly onChanged: Changed }

function Turns({ organization, onChanged }: Part) {
  const { t, core, organization: chosen, choose } = useHouse()
  const { id: organizationId } = organization
  const active = isActive(organization)
  const act = async () => {
    if (active) await core.organizations.deactivateOrganization({ organizationId })
    else await core.organizations.activateOrganization({ organizationId })
    await onChanged()
  }
  return (
    <>
      {chosen.id !== organizationId && (
        <ActionButton label={t("organizations.choose")} act={async () => choose(organizationId)} />
      )}
      <ActionButton label={t(active ? "action.deactivate" : "action.activate")} act={act} />
    </>
  )
}

function Facts({ organization, onChanged }: Part) {
  const { t, core, organizationsChanged } = useHouse()
  const { id: organizationId, name, primaryDomain, details } = organization
  const rename = async (wanted: string) => {
    await core.organizations.updateOrganization({ organizationId, name: wanted })
    await Promise.all([onChanged(), organizationsChanged()])
  }
  return (
    <Section title={t("detail.about")}>
      <dl className="facts">
        <dt>{t("field.name")}</dt>
        <dd>
          <Rename name={name} act={rename} />
        </dd>
        <dt>{t("domains.primary")}</dt>
        <dd>
          <bdi>{primaryDomain}</bdi>
        </dd>
        <dt>{t("organizations.id")}</dt>
        <dd>
          <Copyable value={organizationId} what={t("organizations.id")} />
        </dd>
        <dt>{t("field.created")}</dt>
        <dd>
          <Time at={details?.creationDate} />
        </dd>
        <dt>{t("field.changed")}</dt>
        <dd>
          <Time at={details?.changeDate} />
        </dd>
      </dl>
    </Section>
  )
}

function Remove({ organization }: Pick<Part, "organization">) {
  const { t, core, organizationsChanged } = useHouse()
  const { id: organizationId, name } = organization
  const act = async () => {
    await core.organizations.deleteOrganization({ organizationId })
    go({ page: "organizations" }, "replace")
    await organizationsChanged()
  }
  return (
    <Section title={t("delete.section")}>
      <p className="quiet">{t("organizations.delete_text")}</p>
      <div className="row">
        <DeleteButton
          name={name}
          title={t("organizations.delete")}
          consequence={t("organizations.delete_text")}
          act={act}
        />
      </div>
    </Section>
  )
}
