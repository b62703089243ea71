import { historyOf } from "../../store/index.ts"
import { idpMetadata, idpSecret, idps } from "./model.ts"

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"

// Which providers users can sign in with can be undone; the settings of the providers can't.
export const idpsHistory = historyOf(idps, {
  hidden: [
    "linksAuthor",
    ...["version", "created", "changed", "authors"].map((field) => `all.*.${field}`),
  ],
  target: ({ event }) => event.data,
  undo: {
    "instance.policy.login.idpprovider.added": `${admin}/RemoveIDPFromLoginPolicy`,
    "instance.policy.login.idpprovider.removed": `${admin}/AddIDPToLoginPolicy`,
    "org.policy.login.idpprovider.added": `${management}/RemoveIDPFromLoginPolicy`,
    "org.policy.login.idpprovider.removed": ({ event: { data }, now }) => [
      `${management}/AddIDPToLoginPolicy`,
      { ownerType: Object.hasOwn(now.all, data.idpId) ? "org" : "system" },
    ],
  },
  noUndo: { cascade: ["*.cascade.*"], settings: ["*.changed", "*.migrated.*"] },
})

export const idpSecretHistory = historyOf(idpSecret, { noUndo: { secret: ["*"] } })

export const idpMetadataHistory = historyOf(idpMetadata, { noUndo: { settings: ["*"] } })
