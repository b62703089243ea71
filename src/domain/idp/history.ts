import { historyOf } from "../../store/index.ts"
import { idpMetadata, idpSecret, idps } from "./model.ts"

const admin = "core.admin.v1.AdminService"
const management = "core.management.v1.ManagementService"

// Changes of links can be undone; changes of the settings of providers can't.
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
