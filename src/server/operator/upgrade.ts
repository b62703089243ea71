import { type Upgrade, upgradeOf } from "../../store/index.ts"
import { aggregates, views } from "../modules.ts"

/** What the first start of this version would do to a database; see `upgradeOf`. */
export const whatUpgradeDoes = (source: {
  readonly file: string
  readonly isInUse: boolean
}): Upgrade => upgradeOf(source, { aggregates, views })
