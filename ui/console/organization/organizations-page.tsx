import { useNavigate } from "@tanstack/react-router"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import {
  type Organization,
  OrganizationFieldName,
  OrganizationState,
} from "../../../src/gen/core/org/v2/org_pb.ts"
import { OrganizationService } from "../../../src/gen/core/org/v2/organization_service_pb.ts"
import { DialogButton, defineForm } from "../form/index.ts"
import {
  Clip,
  type ListColumn,
  Listing,
  paginationOf,
  StateBadge,
  Time,
  toPage,
} from "../list/index.ts"
import { call, Link, Page, t } from "../shell/index.ts"

const method = TextQueryMethod.CONTAINS_IGNORE_CASE

/** Organizations that the caller can see. */
export function OrganizationsPage() {
  const navigate = useNavigate()
  const form = defineForm({
    initial: { name: "" },
    refusals: { name: ["org."] },
    save: ({ name }) => call(OrganizationService.method.addOrganization, { name: name.trim() }),
    done: ({ organizationId }) =>
      navigate({ to: "/organizations/$organizationId", params: { organizationId } }),
    fields: ({ text }) =>
      text("name", t("field.name"), { hint: t("organizations.name_hint"), required: true }),
  })
  const create = (
    <DialogButton
      form={form}
      primary
      family="organization"
      label={t("organizations.create")}
      needs={OrganizationService.method.addOrganization}
    />
  )
  return (
    <Page title={t("nav.organizations")} owner={t("nav.instance")} actions={create}>
      <Listing
        caption={t("nav.organizations")}
        method={OrganizationService.method.listOrganizations}
        toRequest={(listQuery) => {
          const query = { case: "nameQuery", value: { name: listQuery.text, method } } as const
          return {
            query: paginationOf(listQuery),
            sortingColumn: OrganizationFieldName.NAME,
            queries: listQuery.text ? [{ query }] : [],
          }
        }}
        find={({ result, details }) => toPage(result, details)}
        columns={organizationColumns()}
        keyOf={({ id }) => id}
        empty={null}
      />
    </Page>
  )
}

const organizationColumns = (): readonly ListColumn<Organization>[] => [
  {
    label: t("field.name"),
    sort: "name",
    cell: ({ id: organizationId, name }) => (
      <Link className="row-link" to="/organizations/$organizationId" params={{ organizationId }}>
        {name}
      </Link>
    ),
  },
  { label: t("domains.primary"), cell: ({ primaryDomain }) => <Clip text={primaryDomain} /> },
  {
    label: t("field.state"),
    cell: ({ state }) => <StateBadge isOn={state !== OrganizationState.INACTIVE} />,
  },
  { label: t("field.changed"), cell: ({ details }) => <Time at={details?.changeDate} /> },
]
