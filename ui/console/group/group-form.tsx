import type { Group } from "../../../src/gen/core/group/v2/group_pb.ts"
import { GroupService } from "../../../src/gen/core/group/v2/group_service_pb.ts"
import { TextField } from "../../kit/field.tsx"
import { Fields } from "../form/form.tsx"
import { type Form, useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { useText } from "../shell/text.ts"

type Values = { readonly name: string; readonly description: string }

type Wanted = {
  readonly id: string
  readonly group: Group | undefined
  readonly close: () => void
  /** In which a group is made that is not there yet. */
  readonly organizationId?: string
}

/** What a group is called and what it is for. */
export function useGroupForm({ id, group, close, organizationId = "" }: Wanted): Form<Values> {
  const { createGroup, updateGroup } = GroupService.method
  return useForm<Values>({
    id,
    initial: { name: group?.name ?? "", description: group?.description ?? "" },
    refusals: { name: ["group.name", "group.exists"] },
    save: async (values) => {
      const wanted = { name: values.name.trim(), description: values.description.trim() }
      await (group
        ? call(updateGroup, { ...wanted, id: group.id })
        : call(createGroup, { ...wanted, organizationId }))
    },
    done: close,
  })
}

export function GroupTexts({ form }: { readonly form: Form<Values> }) {
  const { t } = useText()
  return (
    <>
      <TextField label={t("field.name")} {...form.text("name")} required autoFocus />
      <TextField
        label={t("field.description")}
        optional={t("form.optional")}
        {...form.text("description")}
        maxLength={200}
      />
    </>
  )
}

/** The same where the group stands. */
export function GroupFields(wanted: Wanted) {
  const form = useGroupForm(wanted)
  return (
    <Fields form={form} onCancel={wanted.close}>
      <GroupTexts form={form} />
    </Fields>
  )
}
