import { TextFilterMethod } from "../../../src/gen/core/filter/v2/filter_pb.ts"
import { FieldName, type Group } from "../../../src/gen/core/group/v2/group_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { Clip } from "../badges.tsx"
import { Collection, type FormPart } from "../collection.tsx"
import { Copyable } from "../detail.tsx"
import { DialogForm, useTexts } from "../form.tsx"
import { type House, useHouse } from "../house.ts"
import type { Asked } from "../listing.tsx"
import { useReadings } from "../load.ts"

/** The groups of an organisation. */
export function GroupsPage() {
  const house = useHouse()
  const { t, core, organization } = house
  const readings = useReadings()
  return (
    <Collection
      page={{}}
      family="groups"
      scope={organization.id}
      readings={readings}
      read={(asked, signal) => readGroups(house, asked, signal)}
      columns={[
        { label: t("field.name"), cell: ({ name }) => <strong>{name}</strong> },
        {
          label: t("field.description"),
          cell: ({ description }) => <Clip text={description} />,
        },
        { label: t("groups.id"), cell: ({ id }) => <Copyable value={id} what={t("groups.id")} /> },
      ]}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      form={(group, part) => <GroupForm group={group} {...part} />}
      remove={({ id }) => core.groups.deleteGroup({ id })}
    />
  )
}

async function readGroups(house: House, { text, ...page }: Asked, signal: AbortSignal) {
  const { core, organization } = house
  const method = TextFilterMethod.CONTAINS_IGNORE_CASE
  const filters = [
    { filter: { case: "organizationId", value: { id: organization.id } } as const },
    ...(text ? [{ filter: { case: "nameFilter", value: { name: text, method } } as const }] : []),
  ]
  const request = { pagination: { ...page, asc: true }, sortingColumn: FieldName.NAME, filters }
  const { groups, pagination } = await core.groups.listGroups(request, { signal })
  return { rows: groups, total: Number(pagination?.totalResult ?? groups.length) }
}

function GroupForm({ group, ...part }: FormPart & { readonly group: Group | undefined }) {
  const { t, core, organization } = useHouse()
  const { texts, field } = useTexts({
    name: group?.name ?? "",
    description: group?.description ?? "",
  })
  const save = () => {
    const wanted = { name: texts.name.trim(), description: texts.description.trim() }
    return group
      ? core.groups.updateGroup({ ...wanted, id: group.id })
      : core.groups.createGroup({ ...wanted, organizationId: organization.id })
  }
  const create = t("groups.create")
  return (
    <DialogForm
      title={group?.name ?? create}
      submit={group ? undefined : create}
      save={save}
      {...part}
    >
      <TextField label={t("field.name")} {...field("name")} required autoFocus />
      <TextField
        label={t("field.description")}
        optional={t("form.optional")}
        {...field("description")}
        maxLength={500}
      />
    </DialogForm>
  )
}
