import { historyOf } from "../../store/index.ts"
import { webKey } from "./model.ts"
import { keyPair } from "./saml/model.ts"

export const webKeyHistory = historyOf(webKey, { noUndo: { keys: ["*"] } })

export const keyPairHistory = historyOf(keyPair, { noUndo: { keys: ["*"] } })
