import { useState } from "react"
import { TextQueryMethod } from "../../../src/gen/core/object/v2/object_pb.ts"
import {
  type Organization,
  OrganizationFieldName,
  OrganizationState,
} from "../../../src/gen/core/org/v2/org_pb.ts"
import { Button } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import type { Column } from "../../kit/table.tsx"
import { Clip } from "../badges.tsx"
import type { FormPart } from "../collection.tsx"
import { DialogForm, useTexts } from "../form.tsx"
import { type House, useHouse } from "../house.ts"
import { Link } from "../link.tsx"
import { type Asked, Listing } from "../listing.tsx"
import { useReadings } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { go } from "../route.ts"
import { StateBadge } from "../state-badge.tsx"
import { Time } from "../time.tsx"

/** Every organisation that one may see. */
export function OrganizationsPage() {
  const house = useHouse()
  const { t } = house
  const readings = useReadings()
  const [creating, setCreating] = useState(false)
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      {t("organizations.create")}
    </Button>
  )
  return (
    <PageFrame title={t("nav.organizations")} owner={t("nav.instance")} actions={create}>
      <Listing
        caption={t("nav.organizations")}
        scope="instance"
        with={readings}
        read={(asked, signal) => readOrganizations(house, asked, signal)}
        columns={columnsOf(house)}
        keyOf={({ id }) => id}
        empty={null}
      />
      {creating && <Create onChanged={readings.reload} close={() => setCreating(false)} />}
    </PageFrame>
  )
}

async function readOrganizations({ core }: House, { text, ...page }: Asked, signal: AbortSignal) {
  const method = TextQueryMethod.CONTAINS_IGNORE_CASE
  const query = { case: "nameQuery", value: { name: text, method } } as const
  const request = {
    query: { ...page, asc: true },
    sortingColumn: OrganizationFieldName.NAME,
    queries: text ? [{ query }] : [],
  }
  const { result, details } = await core.organizations.listOrganizations(request, { signal })
  return { rows: result, total: Number(details?.totalResult ?? result.length) }
}

const columnsOf = ({ t }: House): readonly Column<Organization>[] => [
  {
    label: t("field.name"),
    cell: ({ id, name }) => (
      <Link className="row-link" to={{ page: "organization", organizationId: id }}>
        {name}
      </Link>
    ),
  },
  { label: t("domains.primary"), cell: ({ primaryDomain }) => <Clip text={primaryDomain} /> },
  {
    label: t("field.state"),
    cell: ({ state }) => (
      <StateBadge state={state === OrganizationState.INACTIVE ? "inactive" : "active"} />
    ),
  },
  { label: t("field.changed"), cell: ({ details }) => <Time at={details?.changeDate} /> },
]

function Create({ onChanged, close }: FormPart) {
  const { t, core, organizationsChanged } = useHouse()
  const { texts, field } = useTexts({ name: "" })
  const save = async () => {
    const wanted = { name: texts.name.trim() }
    const { organizationId } = await core.organizations.addOrganization(wanted)
    await organizationsChanged()
    go({ page: "organization", organizationId })
  }
  const title = t("organizations.create")
  return (
    <DialogForm title={title} submit={title} save={save} onChanged={onChanged} close={close}>
      <TextField
        label={t("field.name")}
        hint={t("organizations.name_hint")}
        {...field("name")}
        required
        autoFocus
      />
    </DialogForm>
  )
}
