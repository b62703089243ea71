import { type Clock, systemClock } from "../../kernel/clock.ts"
import type { Channel } from "../../store/index.ts"
import { keepRounds } from "../background/round.ts"
import { quietly } from "./slot.ts"

const everyMs = 200

/**
 * Whichever of them is asked says whether the service is ready. Each is told at first, too, also
 * that it is: what it began with may have passed before anybody could tell it so.
 */
export function tellingReadiness(
  notReady: () => string | undefined,
  lines: () => readonly Pick<Channel, "ask">[],
  clock: Clock = systemClock,
) {
  const told = new WeakMap<Pick<Channel, "ask">, string>()
  return keepRounds(clock, everyMs, async () => {
    const why = notReady() ?? ""
    for (const line of lines()) {
      if (told.get(line) === why) continue
      told.set(line, why)
      void quietly(line.ask("condition", why))
    }
  })
}
