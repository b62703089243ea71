import { connect, createServer, type Socket } from "node:net"
import type { Clock } from "../../../kernel/clock.ts"
import { type Address, addressText } from "../../../kernel/net/address.ts"
import type { Front } from "../../listener.ts"
import { helloBytesMax, helloIn } from "./hello.ts"
import { acmeError } from "./problem.ts"

/** RFC 8737 §3: who validates speaks this and nothing else. */
export const acmeProtocol = "acme-tls/1"

/** How long somebody has for the ClientHello, and how many have it at once. */
const helloMs = 5000
const lookedAtMax = 256
/** An authority looks from a few places, and says nothing once the handshake is done. */
const validationMs = 10_000
const validationsMax = 64
/** What stands still longer is closed; the listener behind does so after half a minute. */
const stillMs = 60_000

type Ground = {
  readonly clock: Clock
  /** Where on this machine a host's validation is answered, by host. */
  readonly validations: ReadonlyMap<string, number>
}

/**
 * Stands where the listener stood: leads who validates a host to what answers that, and passes
 * everybody else on to `port` as they came, also who sends what is no ClientHello, too much of it
 * or nothing in time. The listener behind asks whom a connection is from.
 */
export function openRelay(ground: Ground, place: Address, port: number): Front {
  const { clock, validations } = ground
  const peers = new Map<number, string>()
  /** What passes on who is still looked at, the longest first. */
  const lookedAt = new Set<() => void>()
  let validating = 0
  const passOn = (socket: Socket, sent: Buffer) => {
    const behind = joined(socket, sent, port)
    behind.once("connect", () => {
      const { localPort = 0 } = behind
      peers.set(localPort, socket.remoteAddress ?? "")
      behind.once("close", () => peers.delete(localPort))
    })
    closeWhenStill(clock, socket, behind)
  }
  const validate = (socket: Socket, sent: Buffer, at: number) => {
    if (validating === validationsMax) return void socket.destroy()
    validating++
    joined(socket, sent, at)
    const timer = clock.after(validationMs, () => socket.destroy())
    socket.once("close", () => {
      validating--
      timer.stop()
    })
  }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const [longest] = lookedAt
    if (lookedAt.size === lookedAtMax) longest?.()
    lookAt(clock, { socket, lookedAt }, (sent) => {
      const at = validatedAt(validations, sent)
      if (at === undefined) passOn(socket, sent)
      else validate(socket, sent, at)
    })
  })
  // What can't listen says so later, too, and has been told by then.
  server.on("error", () => undefined)
  server.listen(place.port, place.host)
  if (!server.listening) {
    throw acmeError(`nothing could listen at ${addressText(place)} for the validation`, "listen")
  }
  return {
    peerAt: (from) => peers.get(from),
    stop: () => {
      server.close()
      for (const settle of lookedAt) settle()
    },
  }
}

type Looking = {
  readonly socket: Socket
  readonly lookedAt: Set<() => void>
}

/** Reads until it can be told what somebody wants, and no longer than they have. */
function lookAt(clock: Clock, { socket, lookedAt }: Looking, then: (sent: Buffer) => void) {
  let sent = Buffer.alloc(0)
  const leave = () => {
    timer.stop()
    lookedAt.delete(settle)
    socket.off("data", read).off("end", settle).off("close", leave)
  }
  const settle = () => {
    leave()
    socket.pause()
    then(sent)
  }
  const read = (data: Buffer) => {
    sent = Buffer.concat([sent, data])
    if (helloIn(sent) !== "more" || sent.length >= helloBytesMax) settle()
  }
  const timer = clock.after(helloMs, settle)
  lookedAt.add(settle)
  socket.on("error", () => socket.destroy())
  socket.on("data", read).on("end", settle).on("close", leave)
}

/** RFC 8737 §3: one name and one protocol; who has others, too, wants a page. */
function validatedAt(validations: Ground["validations"], sent: Buffer): number | undefined {
  const hello = helloIn(sent)
  if (hello === undefined || hello === "more" || hello.host === undefined) return undefined
  const isValidation = hello.protocols.length === 1 && hello.protocols[0] === acmeProtocol
  return isValidation ? validations.get(hello.host) : undefined
}

/** Joins a connection to one of this machine, with what has been read of it. */
function joined(socket: Socket, sent: Buffer, port: number): Socket {
  const behind = connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true })
  behind.once("connect", () => {
    if (sent.length > 0) behind.write(sent)
    socket.pipe(behind)
    behind.pipe(socket)
  })
  behind.on("error", () => socket.destroy())
  socket.once("close", () => behind.destroy())
  return behind
}

/** Who reads nothing any more would hold two connections for ever. */
function closeWhenStill(clock: Clock, socket: Socket, behind: Socket): void {
  let before = 0
  const look = () => {
    const count = socket.bytesRead + behind.bytesRead
    if (count === before) return void socket.destroy()
    before = count
    timer = clock.after(stillMs, look)
  }
  let timer = clock.after(stillMs, look)
  socket.once("close", () => timer.stop())
}
