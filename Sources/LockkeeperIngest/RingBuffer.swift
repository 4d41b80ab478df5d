/// A first-in-first-out line in one array that is used in a circle, so that taking from the front
/// moves nothing and a removed element is released at once.
struct RingBuffer<Element> {
    /// `nil` outside of the `count` places that begin at `head`.
    private var places: [Element?] = []
    private var head = 0
    /// How many elements stand in the line.
    private(set) var count = 0

    /// Whether nothing stands in the line.
    var isEmpty: Bool { count == 0 }

    /// The element at the front.
    var first: Element? { isEmpty ? nil : places[head] }

    /// The element `offset` places behind the front.
    subscript(offset: Int) -> Element {
        precondition(offset >= 0 && offset < count, "no such place in the line")
        guard let element = places[place(offset)] else {
            preconditionFailure("the places from head on are filled")
        }
        return element
    }

    /// Puts an element at the end.
    mutating func append(_ element: Element) {
        if count == places.count { grow() }
        places[place(count)] = element
        count += 1
    }

    /// Takes the element at the front.
    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = places[head].take()
        head = place(1)
        count -= 1
        return element
    }

    /// Takes the first element that satisfies a condition out of the line; those behind it move up.
    /// Linear: for the rare case that somebody gives up.
    mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        guard let offset = (0..<count).first(where: { matches(self[$0]) }) else { return nil }
        let element = places[place(offset)].take()
        for behind in (offset + 1)..<count {
            places.swapAt(place(behind - 1), place(behind))
        }
        count -= 1
        return element
    }

    private func place(_ offset: Int) -> Int {
        let place = head + offset
        return place < places.count ? place : place - places.count
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(8, places.count * 2))
        for offset in 0..<count { larger.append(places[place(offset)].take()) }
        while larger.count < larger.capacity { larger.append(nil) }
        places = larger
        head = 0
    }
}

extension RingBuffer: Sendable where Element: Sendable {}
