import type { Group } from "../../../src/gen/core/group/v2/group_pb.ts"
import { GroupService } from "../../../src/gen/core/group/v2/group_service_pb.ts"
import { formOf } from "../form/index.ts"
import { call, t } from "../shell/index.ts"

const { createGroup, updateGroup } = GroupService.method

/** What a group is called and what it is for; a new one is made in the organisation. */
export const groupForm = (organizationId: string, group?: Group) =>
  formOf({
    initial: { name: group?.name ?? "", description: group?.description ?? "" },
    refusals: { name: ["group.name", "group.exists"] },
    save: async (values) => {
      const wanted = { name: values.name.trim(), description: values.description.trim() }
      await (group
        ? call(updateGroup, { ...wanted, id: group.id })
        : call(createGroup, { ...wanted, organizationId }))
    },
    fields: ({ text }) => [
      text("name", t("field.name"), { required: true }),
      text("description", t("field.description"), { optional: true }),
    ],
  })
