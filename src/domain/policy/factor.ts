import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { changePolicy, type Place } from "./commands.ts"
import { type Login, login } from "./login.ts"

type List = "secondFactors" | "multiFactors"

/** Allows one factor more. */
export const addFactor = <L extends List>(
  cx: Cx,
  place: Place,
  { list, factor }: { readonly list: L; readonly factor: Login[L][number] },
): Promise<Receipt> =>
  changePolicy(cx, place, {
    policy: login,
    isPartial: true,
    say: (before) => {
      const had: readonly string[] = before[list]
      if (had.includes(factor)) throw existsError()
      return { [list]: [...had, factor] }
    },
  })

/** Takes back that a factor is allowed. Refuses to leave none where one is forced. */
export const removeFactor = <L extends List>(
  cx: Cx,
  place: Place,
  { list, factor }: { readonly list: L; readonly factor: Login[L][number] },
): Promise<Receipt> =>
  changePolicy(cx, place, {
    policy: login,
    isPartial: true,
    say: (before) => {
      const had: readonly string[] = before[list]
      if (!had.includes(factor)) throw missingError()
      return { [list]: had.filter((each) => each !== factor) }
    },
  })

const existsError = () =>
  new Fault("already_exists", "policy.factor_exists", "this factor is allowed already")

const missingError = () =>
  new Fault("not_found", "policy.factor_missing", "this factor isn't among those that are allowed")
