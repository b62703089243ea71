import type { Group } from "../../../src/gen/core/group/v2/group_pb.ts"
import { GroupService } from "../../../src/gen/core/group/v2/group_service_pb.ts"
import { defineForm } from "../form/index.ts"
import { call, t } from "../shell/index.ts"

const { createGroup, updateGroup } = GroupService.method

/** Creates or edits a group of the organization. */
export const groupForm = (organizationId: string, group?: Group) =>
  defineForm({
    initial: { name: group?.name ?? "", description: group?.description ?? "" },
    refusals: { name: ["group.name", "group.exists"] },
    save: async (values) => {
      const request = { name: values.name.trim(), description: values.description.trim() }
      await (group
        ? call(updateGroup, { ...request, id: group.id })
        : call(createGroup, { ...request, organizationId }))
    },
    fields: ({ text }) => [
      text("name", t("field.name"), { required: true }),
      text("description", t("field.description"), { optional: true }),
    ],
  })
