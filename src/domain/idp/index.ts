import type { Cx } from "../../store/index.ts"
import { idpById } from "./commands.ts"
import { idpSecret, idps } from "./model.ts"

export { activeIdps, dropIdps, type Found, idpById, secretOf } from "./commands.ts"
export type { AutoLinking, Idp, IdpKind, Options, Settings } from "./model.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [idps, idpSecret],
  chains: {
    idp: (cx: Cx, id: string) => {
      const found = idpById(cx, id)
      return found && ({ instance: true, ...(found.place && { org: found.place }) } as const)
    },
  },
  operations: () => import("./api.ts"),
} as const
